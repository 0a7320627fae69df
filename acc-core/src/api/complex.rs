//! `Complex` as an element type: real part, imaginary part.

use super::class::Num;
use super::elt::{Elt, ScalarElt};
use super::exp::{Exp, IntoExp, constant, tuple_exp};
use crate::data::{EltType, Lit};
use num_complex::Complex;

impl<F: ScalarElt + Num> Elt for Complex<F> {
    type Exp = Exp<Self>;
    fn ty() -> EltType {
        EltType::tuple([F::ty(), F::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        self.re.write(out);
        self.im.write(out);
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let re = F::read(leaves);
        Complex::new(re, F::read(leaves))
    }
}

#[diagnostic::do_not_recommend]
impl<F: ScalarElt + Num> IntoExp<Self> for Complex<F> {
    #[track_caller]
    fn into_exp(self) -> Exp<Self> {
        constant(self)
    }
}

/// The complex number `re + i im`.
#[track_caller]
pub fn complex<F: ScalarElt + Num>(re: impl IntoExp<F>, im: impl IntoExp<F>) -> Exp<Complex<F>> {
    let (re, im) = (re.into_exp(), im.into_exp());
    tuple_exp(&[re.r, im.r])
}

impl<F: ScalarElt + Num> Exp<Complex<F>> {
    /// The real part.
    #[track_caller]
    pub fn re(self) -> Exp<F> {
        self.proj(0)
    }
    /// The imaginary part.
    #[track_caller]
    pub fn im(self) -> Exp<F> {
        self.proj(1)
    }
    /// The square of the absolute value.
    #[track_caller]
    pub fn norm_sqr(self) -> Exp<F> {
        self.re() * self.re() + self.im() * self.im()
    }
    /// The complex conjugate.
    #[track_caller]
    pub fn conj(self) -> Exp<Complex<F>> {
        complex(self.re(), -self.im())
    }
}

impl<F: ScalarElt + Num> Num for Complex<F> {
    fn from_i64(x: i64) -> Self {
        Complex::new(F::from_i64(x), F::from_i64(0))
    }
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() + b.re(), a.im() + b.im())
    }
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() - b.re(), a.im() - b.im())
    }
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() * b.re() - a.im() * b.im(), a.re() * b.im() + a.im() * b.re())
    }
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        let d = b.norm_sqr();
        let n = a * b.conj();
        complex(n.re() / d, n.im() / d)
    }
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self> {
        complex(-a.re(), -a.im())
    }
}
