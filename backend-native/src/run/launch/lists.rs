//! Vectors whose length grows with the data: a failed allocation ends the run with an error.

use crate::tile::machine::Stop;
use acc_core::Error;

/// Collects an iterator.
pub(crate) fn collected<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, Stop> {
    let items = items.into_iter();
    let mut list = Vec::new();
    reserve(&mut list, items.size_hint().0)?;
    for item in items {
        if list.len() == list.capacity() {
            let more = list.len().max(4);
            reserve(&mut list, more)?;
        }
        list.push(item);
    }
    Ok(list)
}

/// A vector of `count` equal values.
pub(crate) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, Stop> {
    let mut list = Vec::new();
    reserve(&mut list, count)?;
    list.resize(count, value);
    Ok(list)
}

fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), Stop> {
    list.try_reserve_exact(more).map_err(|_| Stop::Error(Error::no_memory(more, size_of::<T>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_what_they_are_made_of() {
        assert_eq!(collected(0..5).ok(), Some(vec![0, 1, 2, 3, 4]));
        // An iterator of unknown length.
        assert_eq!(collected((0..100).filter(|k| k % 3 == 0)).map(|l| l.len()).ok(), Some(34));
        assert_eq!(filled(7, 3).ok(), Some(vec![7, 7, 7]));
        for none in [filled(0u64, usize::MAX / 16).map(drop), collected(0..u64::MAX / 16).map(drop)] {
            assert!(matches!(none, Err(Stop::Error(Error::OutOfMemory { .. }))));
        }
    }
}
