//! Memory that all threads of a team write first, each huge page of it at hand.

use crate::team::Team;
use bitgraph_sparse::parallel::write_pages;
use std::mem::MaybeUninit;

/// The first `length` elements of an array without elements, each huge page of them at hand.
pub(crate) fn fresh<'a, T: Send>(array: &'a mut Vec<T>, length: usize, team: &Team<'_>) -> &'a mut [MaybeUninit<T>] {
    array.clear();
    array.reserve_exact(length);
    let slots = &mut array.spare_capacity_mut()[..length];
    write_pages(slots, |pages, write| team.run(pages, |_, page| write(page)));
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_all() {
        for length in [0, 1, 1000, (5 << 20) + 3] {
            let mut array = Vec::<u32>::new();
            assert_eq!(fresh(&mut array, length, &Team::alone()).len(), length);
            assert!(array.is_empty() && array.capacity() >= length);
        }
    }
}
