//! A hash that is the same in every build: names of files depend on it.

/// The 128-bit hash of some texts, each told apart from the next: FNV-1a (Fowler, Noll and Vo), mixed once more at the
/// end. Not against those who look for collisions; whoever can write the cache can write code anyway.
pub(super) fn hash(texts: &[&str]) -> u128 {
    let mut h = OFFSET;
    for text in texts {
        h = add(h, &text.len().to_le_bytes());
        h = add(h, text.as_bytes());
    }
    (h ^ (h >> 64)).wrapping_mul(PRIME)
}

/// The hash of some bytes.
pub(super) fn checksum(bytes: &[u8]) -> u128 {
    add(OFFSET, bytes)
}

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = (1 << 88) + 0x13b;

fn add(mut h: u128, bytes: &[u8]) -> u128 {
    for &b in bytes {
        h = (h ^ u128::from(b)).wrapping_mul(PRIME);
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_definition() {
        assert_eq!(checksum(b""), OFFSET);
        assert_eq!(checksum(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
