//! Operations on literals. One that faults stays, to fault when and if it is reached.

use super::super::rewrite::Definitions;
use super::Replace;
use acc_core::data::{Lit, ScalarType};
use acc_core::eval::{eval_bitcast, eval_cast, eval_prim};
use acc_core::ir::ScalarOp;

pub(super) fn rule(op: &ScalarOp, ty: ScalarType, defs: &Definitions) -> Option<Replace> {
    let value = match op {
        ScalarOp::Prim(p, args) => {
            let args: Vec<Lit> = args.iter().map(|&v| defs.lit(v)).collect::<Option<_>>()?;
            eval_prim(*p, &args)
        }
        ScalarOp::Cast(x) => eval_cast(defs.lit(*x)?, ty),
        ScalarOp::Bitcast(x) => eval_bitcast(defs.lit(*x)?, ty),
        ScalarOp::Const(_)
        | ScalarOp::Select { .. }
        | ScalarOp::If { .. }
        | ScalarOp::While { .. }
        | ScalarOp::Own(_)
        | ScalarOp::Index(_)
        | ScalarOp::Extent { .. } => return None,
    };
    Some(Replace::Op(ScalarOp::Const(value.ok()?)))
}
