//! `Ordering` as an element type: a `u8`, 0 for `Less`, 1 for `Equal`, 2 for `Greater`.

use crate::api::{Elt, Exp, ExpEq, ExpOrd, IntoExp, SumElt, constant};
use crate::data::{EltType, Lit};
use std::cmp::Ordering;

const CASES: [Ordering; 3] = [Ordering::Less, Ordering::Equal, Ordering::Greater];

impl Elt for Ordering {
    type Exp = Exp<Ordering>;
    fn ty() -> EltType {
        u8::ty()
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        let code: u8 = match self {
            Ordering::Less => 0,
            Ordering::Equal => 1,
            Ordering::Greater => 2,
        };
        code.write(out);
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        match u8::read(leaves) {
            0 => Ordering::Less,
            1 => Ordering::Equal,
            _ => Ordering::Greater,
        }
    }
}

#[diagnostic::do_not_recommend]
impl IntoExp<Ordering> for Ordering {
    #[track_caller]
    fn into_exp(self) -> Exp<Ordering> {
        constant(self)
    }
}

impl SumElt for Ordering {
    type Case = Ordering;
    const CASES: usize = CASES.len();
    fn is_case(e: Exp<Self>, k: usize) -> Exp<bool> {
        e.code().eq(k as u8)
    }
    fn case(_: Exp<Self>, k: usize) -> Ordering {
        CASES[k]
    }
}

impl Exp<Ordering> {
    /// 0, 1 or 2.
    pub(crate) fn code(self) -> Exp<u8> {
        Exp::raw(self.r)
    }
    /// The order of the other direction.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::cmp::Ordering;
    /// let xs = use_(&Vector::from([1i32, 2, 3]));
    /// let orders = Interpreter::new().run(xs.map(|x| x.compare(2).reverse()))?.to_vec();
    /// assert_eq!(orders, [Ordering::Greater, Ordering::Equal, Ordering::Less]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn reverse(self) -> Exp<Ordering> {
        Exp::raw((2 - self.code()).r)
    }
    /// This, or `other` where this is `Equal`; `other` is evaluated only there.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::cmp::Ordering;
    /// let xs = use_(&Vector::from([(1i32, 'b'), (1, 'c'), (2, 'b')]));
    /// let orders = Interpreter::new().run(xs.map(|(x, y)| x.compare(1).then(y.compare('b'))))?.to_vec();
    /// assert_eq!(orders, [Ordering::Equal, Ordering::Greater, Ordering::Greater]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn then(self, other: impl IntoExp<Ordering>) -> Exp<Ordering> {
        let other = other.into_exp();
        self.code().eq(1).then_else(other, self)
    }
}

impl ExpEq for Ordering {
    #[track_caller]
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        a.code().eq(b.code())
    }
}

/// `Less` comes before `Equal`, and that before `Greater`.
impl ExpOrd for Ordering {
    #[track_caller]
    fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        a.code().lt(b.code())
    }
    #[track_caller]
    fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        a.code().le(b.code())
    }
}
