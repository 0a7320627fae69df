//! A parameter fitted through a solver: a body falls against the drag of the air, in steps of time until it lands, and the
//! drag is found from how fast it is then. The gradient goes back through the loop, whose steps the data decide.
//!
//! ```text
//! drag 0.2500, speed at the ground 6.2448
//! ```

use acc_array::derivative::value_and_grad;
use acc_array::prelude::*;

const STEP: f64 = 0.01;

/// The height and the speed of bodies that fall from these heights, when all have landed.
pub fn landed(heights: &Acc<Vector<f64>>, drag: &Acc<Scalar<f64>>) -> Acc<Vector<(f64, f64)>> {
    let start = heights.map(|h| (h, 0.0));
    awhile(
        start,
        |bodies: Acc<Vector<(f64, f64)>>| bodies.map(|(h, _)| h).maximum().the().gt(0.0),
        |bodies| {
            bodies.map(|(h, v)| {
                let faster = v + (lift(9.81) - v * v * drag.the()) * STEP;
                // Whatever has landed stays as it is.
                let falls = h.gt(0.0);
                (falls.then_else(h - (v + faster) * (STEP / 2.0), h), falls.then_else(faster, v))
            })
        },
    )
}

/// The sum of squares of how far the speeds at the ground are off.
pub fn loss(drag: &Acc<Scalar<f64>>, heights: &Acc<Vector<f64>>, speeds: &Acc<Vector<f64>>) -> Acc<Scalar<f64>> {
    landed(heights, drag).zip_with(speeds, |(_, v), seen| (v - seen) * (v - seen)).sum()
}

fn main() -> Result<(), Error> {
    let heights = use_(&Vector::from([5.0, 10.0, 20.0]));
    let speeds = use_(&run(landed(&heights, &unit(0.25)).map(|(_, v)| v))?);
    let slope = compile(|drag: Acc<Scalar<f64>>| value_and_grad(&drag, |drag| loss(&drag, &heights, &speeds)))?;
    let mut drag = 0.1;
    for _ in 0..100 {
        let (_, down) = slope.call((&Scalar::scalar(drag),))?;
        drag -= 0.002 * down.value();
    }
    let speed = run(landed(&heights, &unit(drag)).map(|(_, v)| v))?.to_vec()[1];
    println!("drag {drag:.4}, speed at the ground {speed:.4}");
    Ok(())
}
