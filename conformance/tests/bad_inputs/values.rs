//! Wrong files and wrong calls give errors that can be read: each exactly what stands below its title in
//! `values.txt`.
//!
//! `ACC_BLESS=1` writes the errors there are now into the file, to be read before they are kept.

use acc_core::data::{ArrayData, ShapeError};
use acc_core::prelude::*;
use acc_core::{Executor, RunLimits, text};
use backend_native::Native;
use ndarray_npy::WriteNpyExt;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

/// A title, and what was said.
type Said = (&'static str, String);

fn said<T, E: std::fmt::Display>(title: &'static str, result: Result<T, E>) -> Said {
    match result {
        Ok(_) => panic!("{title}: nothing is wrong"),
        Err(e) => (title, e.to_string()),
    }
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), data].concat()
}

fn written(array: &impl WriteNpyExt) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).expect("it is written to memory");
    bytes
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("made.npz");
    let mut npz = npy::Npz::create(&path).expect("a file");
    for (name, values) in files {
        npz.add(name, &Vector::from(values.to_vec())).expect("an array");
    }
    npz.finish().expect("the end");
    std::fs::read(&path).expect("the file")
}

/// A zip file of one file.
fn zip_of(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file(name, stored).expect("a file in it");
    zip.write_all(contents).expect("its contents");
    zip.finish().expect("the end").into_inner()
}

fn files(folder: &Path) -> Vec<Said> {
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::File::create(&path).and_then(|mut f| f.write_all(bytes)).expect("a file");
        path
    };
    let two_by_two = written(&ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]));
    let header =
        |descr: &str, shape: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let read = |title, name, bytes: &[u8]| said(title, Matrix::<f32>::read_npy(file(name, bytes)));
    let pair = zip(&[("xs", &[1, 2]), ("ys", &[3])]);
    let npz = file("pair.npz", &pair);
    let boast = file("boast.npz", &zip_of("xs.npy", &npy(&header("<f4", "(99999999999,)"), &[0; 8])));
    vec![
        said("a .npy file that is not there", Matrix::<f32>::read_npy(folder.join("none.npy"))),
        said("a folder as a .npy file", Matrix::<f32>::read_npy(folder)),
        read("an empty .npy file", "empty.npy", b""),
        read("a .npy file that is text", "text.npy", b"1 2 3\n4 5 6\n"),
        read("a .npy file cut in its header", "header.npy", &two_by_two[..40]),
        read("a .npy file cut in its data", "data.npy", &two_by_two[..two_by_two.len() - 4]),
        read("a .npy file with more than its data", "more.npy", &[&two_by_two[..], &[0; 4]].concat()),
        read("a .npy file of another version", "version.npy", b"\x93NUMPY\x09\x00\x76\x00"),
        read("a .npy file without a shape", "shapeless.npy", &npy("{'descr': '<f4', 'fortran_order': False, }", &[])),
        read("a .npy file whose header is no dictionary", "list.npy", &npy("[1, 2, 3]", &[])),
        read("a .npy file that claims what it has not", "huge.npy", &npy(&header("<f4", "(99999999999, 2)"), &[0; 8])),
        read(
            "a .npy file that claims what it has not, in other words",
            "spaces.npy",
            &npy("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\" : ( 0x174876e7ff , 2)}", &[0; 8]),
        ),
        read("a .npy file with a negative extent", "negative.npy", &npy(&header("<f4", "(-1, 2)"), &[0; 8])),
        read("a .npy file of integers for floats", "integers.npy", &written(&ndarray::arr2(&[[1i32, 2]]))),
        read("a .npy file of doubles for floats", "doubles.npy", &written(&ndarray::arr2(&[[1.0f64, 2.0]]))),
        read("a .npy file of Python objects", "objects.npy", &npy(&header("|O", "(1, 1)"), &[0; 4])),
        read("a .npy file of texts", "texts.npy", &npy(&header("<U3", "(1, 1)"), &[0; 12])),
        read("a .npy file of another rank", "rank.npy", &written(&ndarray::arr1(&[1.0f32, 2.0]))),
        read("a .npz file as a .npy file", "pair.npy", &pair),
        said("a .npz file that is not there", Vector::<u8>::read_npz(folder.join("none.npz"), "xs")),
        said("a .npz file that is none", Vector::<u8>::read_npz(file("none.npz", &two_by_two), "xs")),
        said("a cut .npz file", Vector::<u8>::read_npz(file("cut.npz", &pair[..pair.len() / 2]), "xs")),
        said("a name that is not in a .npz file", Vector::<u8>::read_npz(&npz, "zs")),
        said("another type in a .npz file", Vector::<i64>::read_npz(&npz, "ys")),
        said("another rank in a .npz file", Matrix::<u8>::read_npz(&npz, "ys")),
        said("an array in a .npz file that claims what it has not", Vector::<f32>::read_npz(boast, "xs")),
        said("a .npy file in a folder that is not there", Vector::from([1u8]).write_npy(folder.join("no/a.npy"))),
        said("a .npz file in a folder that is not there", npy::Npz::create(folder.join("no/a.npz")).map(|_| ())),
    ]
}

fn arrays() -> Vec<Said> {
    let ints = Vector::from([1i32, 2, 3]).into_data();
    vec![
        said("too few elements for a shape", Matrix::from_vec((2, 3), vec![1, 2, 3, 4, 5])),
        said("too many elements for a shape", Matrix::from_vec((2, 2), vec![1, 2, 3, 4, 5])),
        said("a list that ends too soon", Matrix::from_list((2, 3), [1, 2])),
        said("a shape beyond memory", Matrix::<u8>::from_fn((usize::MAX, 2), |_| 0)),
        said("a shape beyond memory without elements", Matrix::<u8>::from_vec((1 << 62, 4), vec![])),
        said("another shape of another size", Vector::from([1, 2, 3]).reshaped::<DIM2>((2, 2))),
        said("untyped data of another rank", Matrix::<i32>::from_data(ints.clone())),
        said("untyped data of another type", Vector::<i64>::from_data(ints.clone())),
        said("untyped data of one column for two", Vector::<(i32, i32)>::from_data(ints)),
        said(
            "an element function that fails",
            Vector::<i32>::try_from_fn(
                3,
                |i| if i[0] < 2 { Ok(1) } else { Err(ShapeError::Rank { want: 7, got: i[0] }) },
            ),
        ),
    ]
}

const ADD: &str = "program(xs: [1]i32, n: [0]i32) {
  ys: [1]i32 = map(xs, f: |%x: i32| {
    %n: i32 = n[]
    yield add(%x, %n)
  })
  yield ys
}";

fn calls() -> Vec<Said> {
    let add = std::sync::Arc::new(text::parse("add.acc", ADD).expect("a program"));
    let xs = Vector::from([1i32, 2, 3]);
    let run = |args: &[ArrayData]| Native::new().run_untyped(&add, args, &RunLimits::none());
    let n = Scalar::scalar(1i32).into_data();
    let limited =
        |limits: RunLimits| Native::new().run_with(use_(&xs).map(|x| x + 1), &limits).map(|_: Vector<i32>| ());
    let cancelled = RunLimits::none().cancel(CancelToken::new());
    cancelled.cancel.iter().for_each(CancelToken::cancel);
    let native = Native::new();
    let mut escaped = None;
    let _ = use_(&xs).map(|x| {
        escaped = Some(x);
        x
    });
    let out_of_its_closure = use_(&xs).map(|x| x + escaped.unwrap_or(x));
    let nested = use_(&xs).map(|x| generate(3, move |_| x).fold(0, |a, b| a + b).the());
    vec![
        said("no argument", run(&[])),
        said("one argument of two", run(&[xs.data().clone()])),
        said("three arguments for two", run(&[xs.data().clone(), n.clone(), n.clone()])),
        said("an argument of another rank", run(&[xs.data().clone(), xs.data().clone()])),
        said("an argument of another type", run(&[Vector::from([1.0f32]).into_data(), n])),
        said("more memory than allowed", limited(RunLimits::none().max_bytes(4))),
        said("a deadline that has passed", limited(RunLimits::none().deadline(Instant::now()))),
        said("a run that was cancelled", limited(cancelled)),
        said("an expression out of its closure", native.run(out_of_its_closure).map(|_: Vector<i32>| ())),
        said("an array operation for each element", native.run(nested).map(|_: Vector<i32>| ())),
    ]
}

#[test]
fn wrong_files_and_wrong_calls_say_what_is_wrong() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_inputs/values.txt");
    let folder = TempDir::new().expect("a folder");
    let mut now = String::new();
    for (title, error) in [files(folder.path()), arrays(), calls()].concat() {
        let error = error.replace(&folder.path().display().to_string(), "FOLDER");
        let _ = write!(now, "=== {title}\n{}\n\n", error.trim_end());
    }
    if std::env::var_os("ACC_BLESS").is_some() {
        std::fs::write(&path, &now).expect("the golden file is written");
    }
    assert_eq!(now, std::fs::read_to_string(&path).expect("the errors"), "see ACC_BLESS");
}
