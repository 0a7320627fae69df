//! `acc digits`: what it writes and says, that a training goes on where it stopped, and what wrong files give.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// As few images as make a table and pictures.
const TINY: [&str; 4] = ["--images", "30", "--batch", "10"];

fn digits(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acc"));
    command.current_dir(folder.path()).arg("digits").args(TINY).args(["--out", "out"]).args(args);
    command.output().expect("acc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn works(folder: &TempDir, args: &[&str]) -> String {
    let out = digits(folder, args);
    assert!(out.status.success(), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// The command fails, says all of `wanted`, and leaves nothing behind but what was there.
#[track_caller]
fn fails(folder: &TempDir, args: &[&str], wanted: &[&str]) {
    let before = entries(folder);
    let out = digits(folder, args);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{args:?}: {said}");
    for w in wanted {
        assert!(said.contains(w), "{args:?}: {w:?} is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(entries(folder), before, "{args:?}");
}

fn entries(folder: &TempDir) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.path()).expect("the folder");
    let mut names: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    names.sort();
    names
}

/// The extents of a PNG file that decodes to its end.
fn png(path: &Path) -> (u32, u32) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a header");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
    let frame = reader.next_frame(&mut pixels).expect("pixels");
    assert!(pixels.iter().any(|p| *p < 100), "{} is empty", path.display());
    (frame.width, frame.height)
}

#[test]
fn a_table_and_pictures() {
    let folder = TempDir::new().expect("a folder");
    let said = works(&folder, &["--epochs", "2", "--optimiser", "adam", "--loss", "cross-entropy", "--dropout", "0.2"]);
    assert!(said.starts_with("digits drawn from seed 1: 30 images to train on, 30 to test with"), "{said}");
    let rows: Vec<Vec<&str>> = said.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[1][0], "epoch", "{said}");
    assert_eq!((rows[2][0], rows[3][0]), ("1", "2"), "{said}");
    let out = folder.path().join("out");
    assert_eq!(png(&out.join("loss.png")), (880, 320));
    for name in ["confusion.png", "filters.png", "wrong.png"] {
        png(&out.join(name));
    }
    let svg = std::fs::read_to_string(out.join("loss.svg")).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(entries(&folder).len(), 1, "the folder of pictures alone");
}

#[test]
fn a_resumed_training_is_one_that_did_not_stop() {
    let folder = TempDir::new().expect("a folder");
    let read = |name: &str| conformance::digits::checkpoint::Checkpoint::read(&folder.path().join(name)).expect(name);
    for options in [&["--seed", "5"][..], &["--optimiser", "momentum"], &["--optimiser", "adam", "--dropout", "0.5"]] {
        works(&folder, &[options, &["--epochs", "2", "--save", "all.npz"]].concat());
        works(&folder, &[options, &["--epochs", "1", "--save", "half.npz"]].concat());
        // With the options of the file.
        works(&folder, &["--epochs", "1", "--resume", "half.npz", "--save", "half.npz"]);
        let (all, half) = (read("all.npz"), read("half.npz"));
        assert_eq!((all.steps, all.how, all.state), (half.steps, half.how, half.state), "{options:?}");
        let losses = |c: &[conformance::digits::checkpoint::Epoch]| c.iter().map(|e| e.loss).collect::<Vec<_>>();
        assert_eq!(losses(&all.epochs), losses(&half.epochs), "{options:?}");
        assert_eq!(half.epochs.len(), 2);
    }
}

#[test]
fn files_that_cannot_be_resumed() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    works(&folder, &["--epochs", "1", "--save", "good.npz"]);
    let good = std::fs::read(at("good.npz")).expect("a file");
    let resume = |name| ["--epochs", "1", "--resume", name];
    std::fs::write(at("short.npz"), &good[..good.len() / 2]).expect("a file");
    std::fs::write(at("text.npz"), "no arrays").expect("a file");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 0x55;
    std::fs::write(at("flipped.npz"), &flipped).expect("a file");
    let mut other = acc_core::prelude::npy::Npz::create(at("other.npz")).expect("a file");
    other.add("xs", &acc_core::api::Vector::from([1.0f32])).expect("an array");
    other.finish().expect("a file");
    fails(&folder, &resume("none.npz"), &["none.npz cannot be resumed", "help: "]);
    for name in ["short.npz", "text.npz", "flipped.npz", "other.npz"] {
        fails(&folder, &resume(name), &[name, "cannot be resumed", "`acc digits --save` wrote"]);
    }
    fails(&folder, &[&resume("good.npz")[..], &["--optimiser", "adam"]].concat(), &["by Sgd, not Adam", "leave out"]);
    fails(&folder, &["--epochs", "1", "--save", "no/such/folder.npz"], &["cannot write no/such/folder.npz"]);
    assert_eq!(std::fs::read(at("good.npz")).expect("a file"), good);
}

/// Big-endian numbers, and so many bytes of one value.
fn idx(numbers: &[u32], value: u8, bytes: usize) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_be_bytes()).chain(std::iter::repeat_n(value, bytes)).collect()
}

#[test]
fn files_of_images() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    let write = |name: &str, contents: &[u8]| std::fs::write(data.join(name), contents).expect("a file");
    let args = ["--data", "data", "--epochs", "1"];
    fails(&folder, &args, &["there is no train-images-idx3-ubyte", "help: `--data`"]);
    for part in ["train", "t10k"] {
        write(&format!("{part}-images-idx3-ubyte"), &idx(&[0x803, 12, 28, 28], 9, 12 * 784));
        write(&format!("{part}-labels-idx1-ubyte"), &idx(&[0x801, 12], 3, 12));
    }
    assert!(works(&folder, &args).starts_with("data: 12 images to train on, 12 to test with"));
    std::fs::remove_dir_all(folder.path().join("out")).expect("the pictures");
    let name = "t10k-images-idx3-ubyte";
    write(name, &idx(&[0x803, 0xffff_ffff, 28, 28], 0, 100));
    fails(&folder, &args, &[name, "claims 4294967295 images"]);
    write(name, &idx(&[0x803, 12, 28, 28], 0, 784));
    fails(&folder, &args, &[name, "is no whole IDX file", "item 2 of 12"]);
    write(name, &idx(&[0x801, 12], 0, 12));
    fails(&folder, &args, &[name, "is no IDX file of images"]);
    write(name, &idx(&[0x803, 11, 28, 28], 0, 11 * 784));
    fails(&folder, &args, &["has 11 images, but", "12 labels"]);
}

#[test]
fn wrong_options() {
    let folder = TempDir::new().expect("a folder");
    fails(&folder, &["--executor", "abacus"], &["there is no executor `abacus`"]);
    fails(&folder, &["--rate", "1e38", "--optimiser", "momentum"], &["the loss is ", "smaller `--rate`"]);
    std::fs::write(folder.path().join("out"), "a file").expect("a file");
    fails(&folder, &["--epochs", "1"], &["out: it is no folder"]);
    for wrong in [["--epochs", "0"], ["--rate", "0"], ["--dropout", "1"], ["--loss", "pride"]] {
        assert_eq!(digits(&folder, &wrong).status.code(), Some(2), "{wrong:?}");
    }
}
