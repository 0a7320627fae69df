use acc_core::prelude::*;

fn main() {
    let f = Interpreter::new().compile(|a: Acc<Vector<f32>>, k: Acc<Scalar<f32>>| a.map(|x| x * &k)).unwrap();
    let _ = f.call((&Vector::from([1.0f32]), &Vector::from([2.0f32])));
}
