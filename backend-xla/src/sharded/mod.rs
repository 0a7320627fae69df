//! Arrays that stay on the devices of a mesh, and calls on them.

mod files;

pub use files::FilesError;

use crate::argument::Argument;
use crate::backend::{Given, Xla};
use crate::device::{Buffer, Device};
use crate::layout::Layout;
use crate::mesh::Mesh;
use crate::tensors::{HeldArray, Tensor, extents_of};
use crate::worker::refused;
use acc_core::api::{Array, Arrays, Compiled, Elt, IntoShape, Shape};
use acc_core::data::ArrayData;
use acc_core::{Error, RunLimits};
use std::marker::PhantomData;

/// An array on the devices of a mesh, of which each process has some rows, or, if it is small, all.
///
/// ```no_run
/// use acc_core::prelude::*;
/// use backend_xla::{CallOn, Mesh, Sharded, Xla};
/// let mesh = Mesh::from_env()?;
/// let double = Xla::on(&mesh)?.compile(|xs: Acc<Matrix<f32>>| xs.map(|x| x * 2.0))?;
/// let rows = mesh.rows(100_000);
/// let mine = Matrix::from_fn((rows.len(), 512), |ix| (rows.start + ix[0]) as f32)?;
/// let xs: Sharded<Matrix<f32>> = mesh.cut((100_000, 512), &mine)?;
/// let ys: Sharded<Matrix<f32>> = double.call_on((&xs,))?;
/// let mine: Matrix<f32> = ys.own()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sharded<A> {
    mesh: Mesh,
    array: HeldArray,
    _type: PhantomData<fn() -> A>,
}

impl<A> Clone for Sharded<A> {
    fn clone(&self) -> Self {
        Sharded::new(&self.mesh, self.array.clone())
    }
}

impl<A> Sharded<A> {
    fn new(mesh: &Mesh, array: HeldArray) -> Sharded<A> {
        Sharded { mesh: mesh.clone(), array, _type: PhantomData }
    }

    /// Its extents, outermost first.
    pub fn extents(&self) -> &[usize] {
        &self.array.shape
    }

    /// Whether each process has some rows of it ([`Mesh::rows`]), and not all.
    pub fn is_cut(&self) -> bool {
        self.array.columns.iter().any(|t| t.layout.cut.is_some())
    }
}

impl<Sh: Shape, E: Elt> Sharded<Array<Sh, E>> {
    /// What this process has of it: the rows of [`Mesh::rows`] if it is cut, and all otherwise.
    pub fn own(&self) -> Result<Array<Sh, E>, Error> {
        let columns = self.array.columns.iter().map(Tensor::column).collect::<Result<Vec<_>, _>>()?;
        let mut shape = self.array.shape.clone();
        if let (true, Some(rows)) = (self.is_cut(), shape.first_mut()) {
            *rows = self.mesh.rows(*rows).len();
        }
        typed(ArrayData::new(shape, self.array.elt.clone(), columns).map_err(|e| Error::defect("xla", e.to_string()))?)
    }

    /// All of it, on every process: all must ask for it.
    pub fn whole(&self) -> Result<Array<Sh, E>, Error> {
        self.mesh.worker.agree(&format!("whole array of {:?}", self.array.shape), &RunLimits::none())?;
        typed(self.array.whole(&Device::Mesh(self.mesh.worker.clone()), &RunLimits::none())?)
    }
}

fn typed<Sh: Shape, E: Elt>(data: ArrayData) -> Result<Array<Sh, E>, Error> {
    Array::from_data(data).map_err(|e| Error::defect("xla", e.to_string()))
}

impl Mesh {
    /// An array of these extents, of which this process gives its rows ([`Mesh::rows`]): on every process, also where it is
    /// small. An error on all if those of one have another shape, or extents differ.
    pub fn cut<Sh: Shape, E: Elt>(
        &self,
        extents: impl IntoShape<Sh>,
        own: &Array<Sh, E>,
    ) -> Result<Sharded<Array<Sh, E>>, Error> {
        self.cut_to(extents.into_shape().dims().to_vec(), own)
    }

    fn cut_to<Sh: Shape, E: Elt>(&self, shape: Vec<usize>, own: &Array<Sh, E>) -> Result<Sharded<Array<Sh, E>>, Error> {
        let data = own.data();
        let mut wanted = shape.clone();
        if let Some(rows) = wanted.first_mut() {
            *rows = self.rows(*rows).len();
        }
        if data.shape() != wanted {
            let (process, got) = (self.process(), data.shape());
            let why = format!("process {process} has rows of shape {got:?}, and must have {wanted:?} of {shape:?}");
            return Err(self.worker.refuse(refused(why), &RunLimits::none()));
        }
        self.worker.agree(&format!("array of {shape:?} of {}", E::ty()), &RunLimits::none())?;
        let mut columns = Vec::new();
        for column in data.columns() {
            let cut = (!shape.is_empty()).then_some(0);
            let layout = Layout { extents: extents_of(&shape), ty: column.ty(), cut };
            let remote = self.worker.put(column.slice(), &layout, false, &RunLimits::none())?;
            columns.push(Tensor::of_argument(Buffer::Mesh(remote), layout));
        }
        Ok(Sharded::new(self, HeldArray { shape, elt: data.elt().clone(), columns }))
    }
}

/// How an argument of which every process has all is cut between them for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Along an axis.
    Axis(usize),
    /// Not at all.
    Whole,
}

/// An argument of [`CallOn::call_on`] for a parameter of type `A`: a [`Sharded`] array; one of which every process has all,
/// `&xs`; or `(&xs, Cut::Whole)`, which says how that is cut.
pub trait MeshArgument<A> {
    #[doc(hidden)]
    fn given(&self) -> Result<GivenArray<'_>, Error>;
}

/// An array that is given to a call.
#[doc(hidden)]
pub struct GivenArray<'a>(Argument<'a>);

impl<Sh: Shape, E: Elt> MeshArgument<Array<Sh, E>> for &Sharded<Array<Sh, E>> {
    fn given(&self) -> Result<GivenArray<'_>, Error> {
        Ok(GivenArray(Argument::Held(&self.array)))
    }
}

impl<Sh: Shape, E: Elt> MeshArgument<Array<Sh, E>> for &Array<Sh, E> {
    fn given(&self) -> Result<GivenArray<'_>, Error> {
        Ok(GivenArray(Argument::Host(self.data(), None)))
    }
}

impl<Sh: Shape, E: Elt> MeshArgument<Array<Sh, E>> for (&Array<Sh, E>, Cut) {
    fn given(&self) -> Result<GivenArray<'_>, Error> {
        let axis = match self.1 {
            Cut::Axis(axis) if axis >= Sh::RANK => {
                return Err(refused(format!("an array of rank {} has no axis {axis} to be cut along", Sh::RANK)));
            }
            Cut::Axis(axis) => Some(axis),
            Cut::Whole => None,
        };
        Ok(GivenArray(Argument::Host(self.0.data(), Some(axis))))
    }
}

/// The arguments of a call: a tuple of [`MeshArgument`]s.
pub trait MeshArguments<P> {
    #[doc(hidden)]
    fn all_given(&self) -> Result<Vec<GivenArray<'_>>, Error>;
}

/// Arrays, or tuples of arrays, as they come from a call on a mesh: [`Sharded`] ones in their place.
pub trait OnMesh: Arrays {
    /// The same with sharded arrays.
    type Sharded;
    #[doc(hidden)]
    fn taken(mesh: &Mesh, results: &mut dyn Iterator<Item = HeldResult>) -> Result<Self::Sharded, Error>;
}

/// A result of a call.
#[doc(hidden)]
pub struct HeldResult(HeldArray);

impl<Sh: Shape, E: Elt> OnMesh for Array<Sh, E> {
    type Sharded = Sharded<Array<Sh, E>>;
    fn taken(mesh: &Mesh, results: &mut dyn Iterator<Item = HeldResult>) -> Result<Self::Sharded, Error> {
        let HeldResult(array) = results.next().ok_or_else(|| Error::defect("xla", "a result is missing"))?;
        Ok(Sharded::new(mesh, array))
    }
}

macro_rules! tuples {
    ($($A:ident $X:ident $i:tt),+) => {
        impl<$($A,)+ $($X: MeshArgument<$A>),+> MeshArguments<($($A,)+)> for ($($X,)+) {
            fn all_given(&self) -> Result<Vec<GivenArray<'_>>, Error> {
                Ok(vec![$(self.$i.given()?),+])
            }
        }
    };
}
tuples!(A X 0);
tuples!(A X 0, B Y 1);
tuples!(A X 0, B Y 1, C Z 2);
tuples!(A X 0, B Y 1, C Z 2, D W 3);
tuples!(A X 0, B Y 1, C Z 2, D W 3, E V 4);
tuples!(A X 0, B Y 1, C Z 2, D W 3, E V 4, F U 5);

macro_rules! results {
    ($($A:ident),+) => {
        impl<$($A: OnMesh),+> OnMesh for ($($A,)+)
        where
            ($($A,)+): Arrays,
        {
            type Sharded = ($($A::Sharded,)+);
            fn taken(mesh: &Mesh, results: &mut dyn Iterator<Item = HeldResult>) -> Result<Self::Sharded, Error> {
                Ok(($($A::taken(mesh, results)?,)+))
            }
        }
    };
}
results!(A, B);
results!(A, B, C);
results!(A, B, C, D);
results!(A, B, C, D, E);
results!(A, B, C, D, E, F);

/// Calls of compiled functions whose arguments and results stay on the devices of a mesh.
pub trait CallOn<Args, Out: OnMesh> {
    /// Applies the function; all processes must. What of the results is large is cut along its rows.
    fn call_on(&self, args: impl MeshArguments<Args>) -> Result<Out::Sharded, Error> {
        self.call_on_with(args, &RunLimits::none())
    }

    /// The same within limits. A deadline that one process reaches ends the mesh.
    fn call_on_with(&self, args: impl MeshArguments<Args>, limits: &RunLimits) -> Result<Out::Sharded, Error>;
}

impl<Args, Out: OnMesh> CallOn<Args, Out> for Compiled<Xla, Args, Out> {
    fn call_on_with(&self, args: impl MeshArguments<Args>, limits: &RunLimits) -> Result<Out::Sharded, Error> {
        let xla = self.backend();
        let mesh = xla.mesh.as_ref().ok_or_else(|| refused("call_on is for an executor on a mesh: Xla::on(&mesh)"))?;
        let given = args.all_given().map_err(|e| mesh.worker.refuse(e, limits))?;
        let mut all: Vec<Argument<'_>> = given.iter().map(|g| g.0).collect();
        all.extend(self.embedded().iter().map(|a| Argument::Host(a, None)));
        let results = xla.results(self.prepared(), &all, false, limits, |types, given| match given {
            Given::Held(held) => HeldArray::of(types, &held),
            Given::Host(results) => results.iter().map(|a| on_devices(mesh, a, limits)).collect(),
        })?;
        Out::taken(mesh, &mut results.into_iter().map(HeldResult))
    }
}

/// An array of which every process has all, on the devices.
fn on_devices(mesh: &Mesh, array: &ArrayData, limits: &RunLimits) -> Result<HeldArray, Error> {
    let device = Device::Mesh(mesh.worker.clone());
    let mut columns = Vec::new();
    for column in array.columns() {
        let extents = extents_of(array.shape());
        let cut = mesh.cutting.axis(&extents, column.ty());
        columns.push(Tensor::of_column(&device, column, Layout { extents, ty: column.ty(), cut }, limits)?);
    }
    Ok(HeldArray { shape: array.shape().to_vec(), elt: array.elt().clone(), columns })
}
