//! `acc tour`: what it writes and says, and what it says when its input is wrong.

use ndarray_npy::WriteNpyExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn tour(out: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acc"));
    command.arg("tour").arg("--out").arg(out).args(args).output().expect("acc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const PROGRAMS: [&str; 11] = [
    "dot",
    "saxpy",
    "equalise",
    "sobel",
    "mandelbrot",
    "life",
    "matmul",
    "kmeans",
    "segmented_sums",
    "black_scholes",
    "digits",
];

#[test]
fn every_executor_agrees_on_the_shipped_input() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = folder.path().join("tour");
    let done = tour(&out, &[]);
    let said = text(&done.stdout);
    assert!(done.status.success(), "{said}{}", text(&done.stderr));
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("tour: 11 programs, ") && last.ends_with(" executors, all agree"), "{said}");
    for name in PROGRAMS {
        for end in ["txt", "dot", "json", "mmd"] {
            let graph = std::fs::read_to_string(out.join(format!("{name}.{end}"))).expect("a graph");
            assert!(!graph.is_empty(), "{name}.{end}");
        }
    }
    for name in ["equalise", "sobel", "mandelbrot", "life", "kmeans", "digits"] {
        let png = std::fs::read(out.join(format!("{name}.png"))).expect("an image");
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
}

#[test]
fn the_user_s_own_input() {
    let folder = TempDir::new().expect("a temporary folder");
    let png = folder.path().join("own.png");
    // One row of RGBA: an image of one level, and less than a cell of the game of life.
    let mut encoder = png::Encoder::new(std::fs::File::create(&png).expect("a file"), 2, 1);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&[9; 8]).expect("pixels");
    writer.finish().expect("the end");
    let npy = folder.path().join("own.npy");
    let points = ndarray::arr2(&[[1.0f64, 2.0], [3.0, 4.0]]);
    points.write_npy(std::fs::File::create(&npy).expect("a file")).expect("points");
    let out = folder.path().join("tour");
    let done = tour(&out, &["--image", &png.display().to_string(), "--npy", &npy.display().to_string()]);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}

/// The tour fails, says all of `wanted`, and leaves nothing behind.
#[track_caller]
fn fails(option: &str, contents: Option<&[u8]>, wanted: &[&str]) {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("input");
    if let Some(contents) = contents {
        std::fs::write(&file, contents).expect("a file");
    }
    let out = folder.path().join("tour");
    let done = tour(&out, &[option, &file.display().to_string()]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    for w in wanted {
        assert!(said.contains(w), "{w:?} is not in: {said}");
    }
    assert!(!said.contains("panicked") && said.contains(option), "{said}");
    assert!(!out.exists(), "something was written");
}

fn npy(points: &impl WriteNpyExt) -> Vec<u8> {
    let mut bytes = Vec::new();
    points.write_npy(&mut bytes).expect("it is written to memory");
    bytes
}

#[test]
fn missing_files() {
    fails("--image", None, &["cannot read", "help: "]);
    fails("--npy", None, &["cannot read", "help: "]);
}

#[test]
fn broken_files() {
    fails("--image", Some(b"not a picture"), &["is not a PNG image that can be read"]);
    let image = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/data/image.png"))
        .expect("the image");
    fails("--image", Some(&image[..image.len() / 2]), &["is not a PNG image that can be read"]);
    fails("--npy", Some(b"not an array"), &["cannot be read as such a .npy file"]);
    let points = npy(&ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]));
    fails("--npy", Some(&points[..points.len() - 4]), &["cannot be read as such a .npy file"]);
}

#[test]
fn arrays_of_another_kind() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 2), }";
    let huge = [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), &[0; 8]].concat();
    fails("--npy", Some(&huge), &["too few for the 19999999999998 elements"]);
    fails("--npy", Some(&npy(&ndarray::arr2(&[[1i32, 2]]))), &["float32 or float64"]);
    fails("--npy", Some(&npy(&ndarray::arr1(&[1f32, 2.0]))), &["shape [2]", "(n, 2)"]);
    fails("--npy", Some(&npy(&ndarray::arr2(&[[1f32, 2.0, 3.0]]))), &["shape [1, 3]"]);
    fails("--npy", Some(&npy(&ndarray::Array2::<f32>::zeros((0, 2)))), &["0 points"]);
    fails("--npy", Some(&npy(&ndarray::arr2(&[[f32::NAN, 2.0]]))), &["holds NaN", "finite"]);
    fails("--npy", Some(&npy(&ndarray::arr2(&[[1e300f64, 2.0]]))), &["holds inf"]);
}

#[test]
fn an_image_too_large() {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1 << 15, 1 << 15);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_chunk(png::chunk::IDAT, &[0]).expect("a chunk");
    drop(writer);
    fails("--image", Some(&bytes), &["32768 x 32768 pixels"]);
}

#[test]
fn an_output_folder_that_cannot_be() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let done = tour(&file.join("tour"), &[]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("cannot make the folder"), "{}", text(&done.stderr));
}

/// The programs are exported by name, and their structure does not depend on the input.
#[test]
fn programs_are_exported_by_name() {
    let export = |name: &str| {
        let args = ["export", "--program", name, "--format", "text"];
        Command::new(env!("CARGO_BIN_EXE_acc")).args(args).output().expect("acc starts")
    };
    for name in PROGRAMS {
        let done = export(name);
        assert!(done.status.success() && !done.stdout.is_empty(), "{name}: {}", text(&done.stderr));
    }
    let (small, shipped) = (conformance::tour::Input::small().expect("an input"), conformance::tour::Input::shipped());
    let shipped = conformance::tour::Input::read(&shipped.0, &shipped.1).expect("the shipped files");
    let programs = |input| conformance::tour::examples(input).expect("the programs are built");
    for (a, b) in programs(&small).iter().zip(programs(&shipped)) {
        assert_eq!(a.program, b.program, "{}", a.name);
    }
}
