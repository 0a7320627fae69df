//! The table of array operations.

/// Calls a macro with the table of array operations: for each its class, its names, and its parts. The text form has
/// arrays without a key first. Where there are several names, the parts with a list in brackets tell them apart: an entry for each name.
///
/// | kind of part | what it is | in the text form |
/// |---|---|---|
/// | `operand` | an array | its name |
/// | `operands [..]` | arrays; whether there are several | their names |
/// | `arrays` | any number of arrays | their names |
/// | `array "key"` | an array | `key: name` |
/// | `keyed_arrays ["key", ..]` | any number of arrays, under a key for each of the names | `key: [names]` |
/// | `inputs` | the arrays of a stencil | names, `window: ..`, `boundary: ..` |
/// | `fun "key"` | a function with parameters | `key: function` |
/// | `closed "key"`, `extents "key"` | a function without parameters | `key: function` |
/// | `initial "key" [..]` | the same, or none; whether there is one | `key: function` |
/// | `block "key"` | a block | `key: block` |
/// | `rule "key" [..]` | a block, or none; whether there is one | `key: block` |
/// | `count "key"` | a number | `key: number`, or nothing for 0 |
/// | `loops "key"` | a schedule, or none | `key: [loops]`, or nothing |
/// | `axes "key"`, `message "key"`, `foreign` | values | `key: value` |
/// | `by_name [..]` | the value for each of the names | the name |
macro_rules! with_array_ops {
    ($callback:ident) => {
        $callback! {
            /// An array of a shape, each element from its index.
            Generate Pointwise ["generate"] {
                /// The extents. A negative one is a fault.
                shape: R::Fun = (extents "shape"),
                /// From an index to the element's leaves.
                f: R::Fun = (fun "f"),
            }
            /// Element-wise on the intersection of the shapes of one or more arrays of one rank.
            Map Pointwise ["map", "zip_with", "imap", "izip_with"] {
                /// The arrays.
                xs: Vec<R::Array> = (operands [false, true, false, true]),
                /// From the index, if `indexed`, and the leaves of each array's element, to the result's leaves.
                f: R::Fun = (fun "f"),
                /// Whether `f` takes the index first.
                indexed: bool = (by_name [false, false, true, true]),
            }
            /// Reduces the innermost dimension with an associative function, in order.
            Fold Fold ["fold", "fold1"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// From the leaves of two elements to those of one.
                f: R::Fun = (fun "f"),
                /// Included once per row, on the left. Without it every row must have an element.
                init: Option<R::Fun> = (initial "init" [true, false]),
            }
            /// Reduces segments of the innermost dimension with an associative function, in order; the segments are the same in
            /// every row: segment `k` are the positions from `offsets[k]` to before `offsets[k + 1]`. Offsets that are none, that
            /// do not ascend, or that are not all in `0..=extent`, are a fault ([`SEGMENTS_WRONG`](super::SEGMENTS_WRONG)).
            FoldSeg Segments ["fold_seg", "fold1_seg"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// A vector of `i64`, one more than there are segments.
                offsets: R::Array = (array "offsets"),
                /// From the leaves of two elements to those of one.
                f: R::Fun = (fun "f"),
                /// Included once per segment, on the left, and needed if there is one. Without it an empty segment is a fault
                /// ([`SEGMENT_EMPTY`](super::SEGMENT_EMPTY)).
                init: Option<R::Fun> = (initial "init" [true, false]),
            }
            /// Scans along the innermost dimension with an associative function, in order.
            Scan Scan ["scanl", "scanl1", "scanr", "scanr1"] {
                /// The end it starts from.
                dir: Dir = (by_name [Dir::Left, Dir::Left, Dir::Right, Dir::Right]),
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
                /// From the leaves of two elements to those of one; the left operand is the one of lesser index.
                f: R::Fun = (fun "f"),
                /// With it the result is one longer (it starts, or from the right ends, with the initial value); without it
                /// the scan is inclusive and keeps the extent.
                init: Option<R::Fun> = (initial "init" [true, false, true, false]),
            }
            /// Writes each element to a target position, combining it with the current value.
            Permute Scatter ["permute"] {
                /// The initial values; gives the result's shape.
                defaults: R::Array = (array "into"),
                /// The source.
                xs: R::Array = (operand),
                /// From the leaves of the new element and those of the value present to those stored.
                combine: R::Fun = (fun "combine"),
                /// From a source index to a `u8` (0: drop the element) and a target index. Out of bounds is a fault.
                target: R::Fun = (fun "target"),
            }
            /// Reads each element of the result from a source position.
            Backpermute Pointwise ["backpermute"] {
                /// The source.
                xs: R::Array = (operand),
                /// The extents of the result.
                shape: R::Fun = (extents "shape"),
                /// From an index of the result to one of the source. Out of bounds is a fault.
                index: R::Fun = (fun "index"),
            }
            /// Maps a fixed neighbourhood of each element, on the intersection of the shapes of one or more arrays of one rank.
            Stencil Pointwise ["stencil"] {
                /// From the leaves of each window's elements, in row-major order, window after window, to the result's leaves.
                f: R::Fun = (fun "f"),
                /// The arrays with their windows.
                inputs: Vec<StencilInput<R>> = (inputs),
            }
            /// The positions (`i64`) that sort each row along the innermost dimension: ascending, stable. Elements are compared
            /// leaf by leaf, the first one first; floats by value, NaN (any) after all numbers.
            Argsort Sort ["argsort"] {
                /// The array, of rank 1 or more.
                xs: R::Array = (operand),
            }
            /// The same array, if a condition holds; else a fault.
            Check Pointwise ["check"] {
                /// The array.
                xs: R::Array = (operand),
                /// A `bool`, then integers for the message.
                ok: R::Fun = (closed "ok"),
                /// What is wrong if the condition does not hold; each `{}` stands for the next integer.
                message: Arc<str> = (message "message"),
            }
            /// The same elements in row-major order under another shape of the same size.
            Reshape View ["reshape"] {
                /// The array.
                xs: R::Array = (operand),
                /// The extents.
                shape: R::Fun = (extents "shape"),
            }
            /// Repeats an array along new axes.
            Replicate Pointwise ["replicate"] {
                /// The array.
                xs: R::Array = (operand),
                /// One entry per axis of the result; the `All`s are the source's axes in order.
                axes: Vec<Axis> = (axes "axes"),
                /// The extents of the `Fixed` axes, in order.
                extents: R::Fun = (extents "extents"),
            }
            /// Fixes some axes at a position.
            Slice Pointwise ["slice"] {
                /// The array.
                xs: R::Array = (operand),
                /// One entry per axis of the source; the `All`s are the result's axes in order.
                axes: Vec<Axis> = (axes "axes"),
                /// The positions on the `Fixed` axes, in order. Out of bounds is a fault.
                index: R::Fun = (extents "index"),
            }
            /// The array itself, stored: no operation after it is fused with one before it.
            Compute View ["compute"] {
                /// The array.
                xs: R::Array = (operand),
                /// The loops that compute it, if the program says so. Executors without such loops ignore it.
                schedule: Option<Schedule> = (loops "loops"),
            }
            /// A function that is not of the language, with one that is and means the same.
            Foreign Control ["foreign", "trace"] {
                /// The arguments; of a trace, the arrays to show, then those that the block yields.
                xs: R::Arrays = (arrays),
                /// Which.
                function: ForeignFun = (foreign),
                /// The same function in the language: from the arguments to the results.
                fallback: R::Block = (block "fallback"),
            }
            /// A conditional: only the block taken is evaluated. The blocks have no parameters.
            If Control ["acond"] {
                /// One `bool`.
                cond: R::Fun = (closed "cond"),
                /// Evaluated if true.
                then: R::Block = (block "then"),
                /// Evaluated if false.
                else_: R::Block = (block "else"),
            }
            /// A loop: while `test` yields true of the state, the state becomes what `step` yields.
            While Control ["awhile"] {
                /// The initial state.
                init: R::Arrays = (arrays),
                /// From the state to one rank-0 array of `bool`.
                test: R::Block = (block "test"),
                /// From the state to the next state.
                step: R::Block = (block "step"),
            }
            /// A function of arrays and its derivative: the function's results, then their tangents, or the adjoints of the
            /// point. Arrays that the function uses from around it are constants. An array has a tangent, and an adjoint, if
            /// there is a float in its elements: of its extents, with elements of
            /// [`EltType::tangent`](crate::data::EltType::tangent).
            Derivative Control ["jvp", "vjp"] {
                /// Whether it yields the results' tangents, or the point's adjoints.
                mode: Mode = (by_name [Mode::Forward, Mode::Reverse]),
                /// The point: one array per parameter of the function.
                at: R::Arrays = (arrays),
                /// The tangents of the point's arrays, or the adjoints of the results: of those that have one, in their order.
                along: R::Arrays = (keyed_arrays ["along", "by"]),
                /// The function.
                f: R::Block = (block "f"),
            }
            /// A function of arrays with rules for its derivatives: its results. Where there is no rule at all, its derivatives
            /// are the function's own, and going back through it computes it again (a checkpoint). A rule for one mode serves
            /// the other mode, too, by its transpose; it is linear in what it maps.
            ///
            /// Only tangents and adjoints of arrays with a float in their elements are given and yielded. The last results
            /// are *residuals*: what the rules need of the function.
            Ruled Control ["checkpoint", "custom_jvp", "custom_vjp", "custom_derivative"] {
                /// The arguments.
                at: R::Arrays = (arrays),
                /// How many of the results are residuals.
                residuals: usize = (count "residuals"),
                /// The function.
                f: R::Block = (block "f"),
                /// From the arguments, the residuals, and the arguments' tangents to the tangents of the other results.
                jvp: Option<R::Block> = (rule "jvp" [false, true, false, true]),
                /// From the residuals and the adjoints of the other results to the adjoints of the arguments.
                vjp: Option<R::Block> = (rule "vjp" [false, false, true, true]),
            }
        }
    };
}
pub(crate) use with_array_ops;
