use acc_core::prelude::*;

#[derive(Elt, Clone)]
enum Shape {
    Circle(f32),
    Square(f32),
}

fn main() {
    let xs: Vector<Shape> = [Shape::Circle(1.0), Shape::Square(2.0)].into_iter().collect();
    let _ = use_(&xs).map(|s| s.match_(|s| match s { ShapeExp::Circle(r) => r }));
}
