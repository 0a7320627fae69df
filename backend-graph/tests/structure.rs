//! Which operations programs become. How many calls they become is expected by the files in
//! `conformance/programs/structure/graph`.

use acc_core::prelude::*;
use backend_graph::graph_of;

/// However many elements have one target: there is no loop over them, and nothing is sorted.
#[test]
fn a_permutation_that_keeps_an_element_whole_has_no_step_per_collision() {
    let text = |program: Acc<Vector<(i64, i64)>>| {
        let program = program.program().unwrap().program;
        backend_graph::export(&graph_of(&program).unwrap(), backend_graph::Format::Text)
    };
    let tagged = use_(&Vector::from([3i64, 1, 2, 0])).imap(|i, x| (x, i));
    let base = || generate(3, |_| (0i64, -1i64));
    let kept = [
        text(tagged.permute(base(), |a, b| a.0.gt(b.0).then_else(a, b), |i| Some(i % 3))),
        text(tagged.permute(base(), |a, b| b.1.ge(a.1).then_else(a, b), |i| Some(i % 3))),
    ];
    for graph in kept {
        assert!(graph.contains("tensor_scatter("), "{graph}");
        assert!(!graph.contains("while(") && !graph.contains("sort("), "{graph}");
    }
    // What is kept depends on more than an order.
    let other = text(tagged.permute(base(), |a, b| (a.0 + b.0).gt(3).then_else(a, b), |i| Some(i % 3)));
    assert!(other.contains("while("), "{other}");
}

/// Groups are groups of libtorch's convolution, one filter for each channel among them.
#[test]
fn a_convolution_in_groups_is_one_convolution() {
    let images = || use_(&Array::<Dim<4>, f32>::from_vec((2, 4, 6, 6), vec![0.5; 288]).unwrap());
    for groups in [2, 4] {
        let filters = fill((8, 4 / groups, 3, 3), 0.25f32);
        for windows in [Windows::valid(), Windows::same(), Windows::valid().stride(2)] {
            let program = images().conv_grouped(&filters, groups, windows).program().unwrap().program;
            let text = backend_graph::export(&graph_of(&program).unwrap(), backend_graph::Format::Text);
            assert_eq!(text.matches(" = convolve(").count(), 1, "{text}");
        }
    }
}
