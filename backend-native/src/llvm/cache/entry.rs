//! Names and contents of files in the cache.
//!
//! | bytes | |
//! |---|---|
//! | 8 | magic number |
//! | 8 | the length of the key's text, little endian |
//! | | the key's text |
//! | | the code |
//! | 32 | the SHA-256 of all before, against damage |

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// The magic number.
const MAGIC: &[u8; 8] = b"acckern2";
/// Bytes before the key's text; bytes of the checksum.
const HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 32;
/// The suffixes of files, and of those that are being written.
const FILE_SUFFIX: &str = ".kernel";
const DRAFT_SUFFIX: &str = ".draft";

/// All that a kernel's code depends on.
pub(in crate::llvm) struct Key {
    text: String,
    /// The SHA-256 of the text.
    digest: String,
}

impl Key {
    /// The key of several texts, kept apart.
    pub(in crate::llvm) fn new(parts: &[&str]) -> Key {
        let mut text = String::new();
        for part in parts {
            // With lengths, so that no two lists have one text.
            text += &format!("{} {part}\n", part.len());
        }
        let digest = hexadecimal(&Sha256::digest(text.as_bytes()));
        Key { text, digest }
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}{FILE_SUFFIX}", self.digest)
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

/// Whether a file of this name is one of the cache's.
pub(super) fn is_file_name(name: &str) -> bool {
    name.strip_suffix(FILE_SUFFIX).is_some_and(|digest| is_hexadecimal(digest, 2 * CHECKSUM_BYTES))
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

/// The contents of a file.
pub(super) fn encode(key: &Key, object: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + key.text.len() + object.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(key.text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(key.text.as_bytes());
    bytes.extend_from_slice(object);
    let sum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// The code in a file's contents; none if it is damaged, or belongs to another key.
pub(super) fn decode<'b>(bytes: &'b [u8], key: &Key) -> Option<&'b [u8]> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (text, object) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let good = magic == MAGIC && text == key.text.as_bytes() && sum == Sha256::digest(bytes).as_slice();
    good.then_some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_belongs_to_one_key() {
        let (key, other) = (Key::new(&["ab", "c"]), Key::new(&["a", "bc"]));
        assert_ne!(key.file_name(), other.file_name());
        let bytes = encode(&key, b"code");
        assert_eq!(decode(&bytes, &key), Some(&b"code"[..]));
        assert_eq!(decode(&bytes, &other), None);
        // Another key with the same digest, as an attacker would like to have it.
        let twin = Key { text: other.text.clone(), digest: key.digest.clone() };
        assert_eq!(decode(&bytes, &twin), None);
    }

    #[test]
    fn damage_anywhere_is_told() {
        let key = Key::new(&["text"]);
        let bytes = encode(&key, b"code");
        for at in 0..bytes.len() {
            assert_eq!(decode(&bytes[..at], &key), None, "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(decode(&changed, &key), None, "changed at {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(decode(&longer, &key), None);
    }

    #[test]
    fn names_are_of_their_own_form() {
        let key = Key::new(&["text"]);
        assert!(is_file_name(&key.file_name()) && is_draft_name(&draft_name(&key)));
        assert_ne!(draft_name(&key), draft_name(&key));
        for other in ["holiday.jpg", ".kernel", "CACHEDIR.TAG", "cafe.kernel", ".draft", "a.b.draft"] {
            assert!(!is_file_name(other) && !is_draft_name(other), "{other}");
        }
    }
}
