//! Values of the code: scalars, or one vector per part of a step.

use crate::kernel::Uniformity;
use crate::llvm::emit::Emitter;
use crate::llvm::emit::text::{Operand, element};
use acc_core::ir::Val;
use smallvec::SmallVec;

/// One vector per part.
pub(crate) type Parts = SmallVec<[Operand; 4]>;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar, equal for all lanes.
    Uniform(Operand),
    /// An `i64`: the first lane's value, and the step from lane to lane.
    Affine(Operand, i64),
    /// Vectors.
    Varying(Parts),
}

impl Value {
    /// The value of operands of this uniformity.
    pub(crate) fn from_operands(level: Uniformity, operands: Parts) -> Value {
        match (level, operands.first()) {
            (Uniformity::Uniform, Some(o)) => Value::Uniform(o.clone()),
            (Uniformity::Affine(step), Some(o)) => Value::Affine(o.clone(), step),
            _ => Value::Varying(operands),
        }
    }
}

/// Which lanes are active.
#[derive(Clone, Debug)]
pub(crate) enum Mask {
    All,
    Lanes(Parts),
}

/// Whether an operation is on scalars or on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Scalar,
    Vector(usize),
}

impl Shape {
    /// The type of values of this shape.
    pub(crate) fn of(self, element: &str) -> String {
        match self {
            Shape::Scalar => element.to_string(),
            Shape::Vector(n) => format!("<{n} x {element}>"),
        }
    }

    /// The suffix of an intrinsic over this type.
    pub(crate) fn suffix(self, element: &str) -> String {
        let name = match element {
            "float" => "f32",
            "double" => "f64",
            "half" => "f16",
            other => other,
        };
        match self {
            Shape::Scalar => name.to_string(),
            Shape::Vector(n) => format!("v{n}{name}"),
        }
    }
}

impl Emitter<'_> {
    /// The vectors of a value.
    pub(crate) fn vectors(&mut self, v: Val) -> Parts {
        let value = self.scope.value(v);
        self.code.broadcast(&value, element(self.ty(v)))
    }

    /// Writes an operation once for uniform operands, else for each part.
    pub(crate) fn map_parts(
        &mut self,
        args: &[Val],
        f: &mut dyn FnMut(&mut Self, Shape, &[Operand]) -> Operand,
    ) -> Value {
        let values: SmallVec<[Value; 4]> = args.iter().map(|&v| self.scope.value(v)).collect();
        if values.iter().all(|v| matches!(v, Value::Uniform(_))) {
            let ones: SmallVec<[Operand; 4]> = args.iter().map(|&v| self.scope.scalar(v)).collect();
            return Value::Uniform(f(self, Shape::Scalar, &ones));
        }
        let spread: SmallVec<[Parts; 4]> = args.iter().map(|&v| self.vectors(v)).collect();
        let parts = (0..self.code.width.parts).map(|p| {
            let operands: SmallVec<[Operand; 4]> = spread.iter().map(|s| s[p].clone()).collect();
            f(self, self.code.shape(), &operands)
        });
        Value::Varying(parts.collect())
    }
}
