//! Names and contents of files in a cache.
//!
//! Of those that nobody reads:
//!
//! | bytes | |
//! |---|---|
//! | 8 | magic number |
//! | 8 | the length of the key's text, little endian |
//! | | the key's text |
//! | | the value |
//! | 32 | the SHA-256 of all before, against damage |
//!
//! Those that people read are text: the value, the key's text, and a line with the SHA-256 of all before, in hexadecimal digits.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// The magic number.
const MAGIC: &[u8; 8] = b"acckern2";
/// Bytes before the key's text; bytes of the checksum.
const HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 32;
/// The suffix of files that are being written.
const DRAFT_SUFFIX: &str = ".draft";
/// The words before the key's text, and before the checksum, of a file that people read.
const OF: &str = "\nof:\n";
const SUM: &str = "sha256: ";

/// How the contents of files are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Binary,
    Text,
}

/// All that a value depends on.
pub(crate) struct Key {
    text: String,
    /// The SHA-256 of the text.
    digest: String,
}

impl Key {
    /// The key of several texts, kept apart.
    pub(crate) fn new(parts: &[&str]) -> Key {
        let mut text = String::new();
        for part in parts {
            // With lengths, so that no two lists have one text.
            text += &format!("{} {part}\n", part.len());
        }
        let digest = hexadecimal(&Sha256::digest(text.as_bytes()));
        Key { text, digest }
    }

    pub(super) fn file_name(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.digest)
    }
}

/// A file name that no other writer chooses.
pub(super) fn draft_name(key: &Key) -> String {
    format!("{}.{:016x}{DRAFT_SUFFIX}", key.digest, random())
}

/// A number that is hard to guess.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// Whether a file of this name is one of a cache whose files have this suffix.
pub(super) fn is_file_name(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|digest| is_hexadecimal(digest, 2 * CHECKSUM_BYTES))
}

/// Whether a file of this name is being written.
pub(super) fn is_draft_name(name: &str) -> bool {
    let parts = name.strip_suffix(DRAFT_SUFFIX).and_then(|name| name.split_once('.'));
    parts.is_some_and(|(digest, random)| is_hexadecimal(digest, 2 * CHECKSUM_BYTES) && is_hexadecimal(random, 16))
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for b in bytes {
        // A string takes all that is written.
        let _ = write!(text, "{b:02x}");
    }
    text
}

impl Format {
    /// The contents of a file.
    pub(super) fn encode(self, key: &Key, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + key.text.len() + value.len() + CHECKSUM_BYTES);
        match self {
            Format::Binary => {
                bytes.extend_from_slice(MAGIC);
                bytes.extend_from_slice(&(key.text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(key.text.as_bytes());
                bytes.extend_from_slice(value);
                let sum = Sha256::digest(&bytes);
                bytes.extend_from_slice(&sum);
            }
            Format::Text => {
                for part in [value, OF.as_bytes(), key.text.as_bytes()] {
                    bytes.extend_from_slice(part);
                }
                let sum = hexadecimal(&Sha256::digest(&bytes));
                bytes.extend_from_slice(format!("{SUM}{sum}\n").as_bytes());
            }
        }
        bytes
    }

    /// The value in a file's contents; none if it is damaged, or belongs to another key.
    pub(super) fn decode<'b>(self, bytes: &'b [u8], key: &Key) -> Option<&'b [u8]> {
        match self {
            Format::Binary => {
                let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
                let (magic, rest) = bytes.split_first_chunk::<8>()?;
                let (length, rest) = rest.split_first_chunk::<8>()?;
                let (text, value) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
                let good = magic == MAGIC && text == key.text.as_bytes() && sum == Sha256::digest(bytes).as_slice();
                good.then_some(value)
            }
            Format::Text => {
                let line = SUM.len() + 2 * CHECKSUM_BYTES + 1;
                let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(line)?)?;
                let value = bytes.strip_suffix(key.text.as_bytes())?.strip_suffix(OF.as_bytes())?;
                let wanted = format!("{SUM}{}\n", hexadecimal(&Sha256::digest(bytes)));
                (sum == wanted.as_bytes()).then_some(value)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [Format; 2] = [Format::Binary, Format::Text];

    #[test]
    fn a_value_belongs_to_one_key() {
        let (key, other) = (Key::new(&["ab", "c"]), Key::new(&["a", "bc"]));
        assert_ne!(key.file_name(".x"), other.file_name(".x"));
        for format in FORMATS {
            let bytes = format.encode(&key, b"value");
            assert_eq!(format.decode(&bytes, &key), Some(&b"value"[..]));
            assert_eq!(format.decode(&bytes, &other), None);
            // Another key with the same digest, as an attacker would like to have it.
            let twin = Key { text: other.text.clone(), digest: key.digest.clone() };
            assert_eq!(format.decode(&bytes, &twin), None);
        }
    }

    #[test]
    fn damage_anywhere_is_told() {
        let key = Key::new(&["text"]);
        for format in FORMATS {
            let bytes = format.encode(&key, b"value");
            for at in 0..bytes.len() {
                assert_eq!(format.decode(&bytes[..at], &key), None, "cut at {at}");
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert_eq!(format.decode(&changed, &key), None, "changed at {at}");
            }
            let mut longer = bytes.clone();
            longer.push(0);
            assert_eq!(format.decode(&longer, &key), None);
        }
    }

    #[test]
    fn names_are_of_their_own_form() {
        let key = Key::new(&["text"]);
        assert!(is_file_name(&key.file_name(".kernel"), ".kernel") && is_draft_name(&draft_name(&key)));
        assert_ne!(draft_name(&key), draft_name(&key));
        for other in ["holiday.jpg", ".kernel", "CACHEDIR.TAG", "cafe.kernel", ".draft", "a.b.draft"] {
            assert!(!is_file_name(other, ".kernel") && !is_draft_name(other), "{other}");
        }
    }
}
