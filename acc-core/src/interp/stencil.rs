//! Stencils: neighbourhoods and what lies beyond the edges.

use super::launch::{Scalars, each, extents, launch};
use super::machine::Machine;
use super::number::{Number, Values};
use super::scalar::Launch;
use super::{Host, fault};
use crate::data::unlinear_index;
use crate::error::{Error, Fault};
use crate::ir::{Boundary, Fun, StencilInput, Stmt};
use smallvec::SmallVec;

pub(super) fn stencil<'p, N: Number>(
    m: &mut Machine<'p, N>,
    s: &'p Stmt,
    f: &'p Fun,
    inputs: &'p [StencilInput],
) -> Result<Values<N>, Error> {
    let sources = inputs.iter().map(|i| m.value(i.xs)).collect::<Result<Vec<_>, _>>()?;
    for (source, input) in sources.iter().zip(inputs) {
        if source.size() > 0 {
            check_extents(s, source.shape(), &input.window, &input.boundary)?;
        }
    }
    let mut f = launch(s, f);
    let mut edges: Vec<Edge<'_, N>> = inputs
        .iter()
        .map(|i| match &i.boundary {
            Boundary::Clamp => Edge::Clamp,
            Boundary::Mirror => Edge::Mirror,
            Boundary::Wrap => Edge::Wrap,
            Boundary::Function(b) => Edge::Function(launch(s, b)),
        })
        .collect();
    let shape = extents(m, s)?;
    each(m, s, shape, |m, _, index| {
        let mut args: SmallVec<[N; 16]> = SmallVec::new();
        for ((source, input), edge) in sources.iter().zip(inputs).zip(&mut edges) {
            let window = &input.window;
            for k in 0..input.neighbours() {
                let offset = unlinear_index(window, k);
                let at: SmallVec<[i64; 4]> =
                    index.iter().zip(&offset).zip(window).map(|((i, o), &w)| i + o - (w / 2) as i64).collect();
                args.extend(edge.read(source, &at, m)?);
            }
        }
        f.call(args, m)
    })
}

/// What is read beyond the edges.
enum Edge<'f, N: Number> {
    Clamp,
    Mirror,
    Wrap,
    Function(Launch<'f, N>),
}

impl<N: Number> Edge<'_, N> {
    fn read(&mut self, source: &Values<N>, at: &[i64], host: &mut dyn Host<N>) -> Result<Scalars<N>, Error> {
        if source.data.position(at).is_some() {
            return source.read(at);
        }
        let inside: fn(i64, i64) -> i64 = match self {
            Edge::Function(f) => return f.call(at.iter().map(N::of_int), host),
            Edge::Clamp => |i, n| i.clamp(0, n - 1),
            // One reflection about the edge element.
            Edge::Mirror => |i, n| if i < 0 { -i } else { i.min(2 * (n - 1) - i) },
            Edge::Wrap => |i, n| i.rem_euclid(n),
        };
        let at: SmallVec<[i64; 4]> = at.iter().zip(source.shape()).map(|(&i, &n)| inside(i, n as i64)).collect();
        source.read(&at)
    }
}

/// One reflection or wrap must be enough.
fn check_extents(s: &Stmt, shape: &[usize], window: &[usize], boundary: &Boundary) -> Result<(), Error> {
    let (name, more) = match boundary {
        Boundary::Mirror => ("mirror", 1),
        Boundary::Wrap => ("wrap", 0),
        Boundary::Clamp | Boundary::Function(_) => return Ok(()),
    };
    if shape.iter().zip(window).any(|(&n, &w)| w > 1 && n < w / 2 + more) {
        let (shape, window) = (shape.to_vec(), window.to_vec());
        return Err(fault(Fault::StencilExtent { shape, window, boundary: name }, s.operation(), &s.loc));
    }
    Ok(())
}
