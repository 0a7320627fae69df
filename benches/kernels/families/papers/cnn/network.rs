//! The network by hand: its parameters, what is kept of an image, and what its gradient is summed in.

use crate::data::floats;
use crate::row::Outputs;

/// Rows and columns of an image.
pub const SIDE: usize = 28;
pub const PIXELS: usize = SIDE * SIDE;

/// Vectors of eight lanes, over which a sum is spread.
pub type Lanes8 = [f32; 8];

#[derive(Clone)]
pub struct Network {
    pub k1: [f32; 150],
    pub b1: [f32; 6],
    pub k2: [f32; 1800],
    pub b2: [f32; 12],
    pub w: [f32; 1920],
    /// Of ten outputs.
    pub b: [f32; 16],
}

impl Network {
    /// Before it has learned.
    pub fn new() -> Network {
        fn uniform<const N: usize>(seed: u64, most: f64) -> [f32; N] {
            let mut out = [0.0; N];
            out.copy_from_slice(&floats(seed, N, -most, most));
            out
        }
        let mut b = [0.0; 16];
        b[..10].fill(-2.2);
        Network {
            k1: uniform(113, 0.8),
            b1: uniform(114, 0.2),
            k2: uniform(115, 0.3),
            b2: uniform(116, 0.08),
            w: uniform(117, 0.07),
            b,
        }
    }

    /// All parameters, in order.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut f32> {
        let Network { k1, b1, k2, b2, w, b } = self;
        k1.iter_mut().chain(b1).chain(k2).chain(b2).chain(w).chain(&mut b[..10])
    }
}

impl Outputs for Network {
    fn columns(&self) -> Vec<Vec<f64>> {
        let slices: [&[f32]; 6] = [&self.k1, &self.b1, &self.k2, &self.b2, &self.w, &self.b[..10]];
        slices.iter().map(|values| values.iter().map(|x| f64::from(*x)).collect()).collect()
    }
}

/// What is computed of an image: activations and means of both convolutions, outputs, and the adjoints of all.
#[repr(align(64))]
pub struct Image {
    pub a1: [f32; 6 * 24 * 24],
    pub s1: [f32; 6 * 12 * 12],
    pub a2: [f32; 12 * 8 * 8],
    pub s2: [f32; 192],
    pub y: [f32; 16],
    pub d1: [f32; 6 * 24 * 24],
    pub ds1: [f32; 6 * 12 * 12],
    pub d2: [f32; 12 * 8 * 8],
    pub ds2: [f32; 192],
}

impl Image {
    pub fn new() -> Image {
        Image {
            a1: [0.0; 6 * 24 * 24],
            s1: [0.0; 6 * 12 * 12],
            a2: [0.0; 12 * 8 * 8],
            s2: [0.0; 192],
            y: [0.0; 16],
            d1: [0.0; 6 * 24 * 24],
            ds1: [0.0; 6 * 12 * 12],
            d2: [0.0; 12 * 8 * 8],
            ds2: [0.0; 192],
        }
    }
}

/// The sums of a thread.
pub struct Gradient {
    pub image: Image,
    pub k1: [Lanes8; 150],
    pub b1: [Lanes8; 6],
    pub k2: [Lanes8; 1800],
    pub b2: [Lanes8; 12],
    pub w: [f32; 1920],
    pub b: [f32; 10],
    pub loss: f32,
}

impl Gradient {
    pub fn new() -> Gradient {
        Gradient {
            image: Image::new(),
            k1: [[0.0; 8]; 150],
            b1: [[0.0; 8]; 6],
            k2: [[0.0; 8]; 1800],
            b2: [[0.0; 8]; 12],
            w: [0.0; 1920],
            b: [0.0; 10],
            loss: 0.0,
        }
    }

    pub fn clear(&mut self) {
        self.k1.as_flattened_mut().fill(0.0);
        self.b1.as_flattened_mut().fill(0.0);
        self.k2.as_flattened_mut().fill(0.0);
        self.b2.as_flattened_mut().fill(0.0);
        self.w.fill(0.0);
        self.b.fill(0.0);
        self.loss = 0.0;
    }

    /// The gradient by each parameter, in order.
    pub fn parameters(&self) -> impl Iterator<Item = f32> {
        let lanes = self.k1.iter().chain(&self.b1).chain(&self.k2).chain(&self.b2).map(|lanes| lanes.iter().sum());
        lanes.chain(self.w.iter().chain(&self.b).copied())
    }
}
