//! The words of each layout, and the structures that have them.

use callgate_core::io_uring::{self, IoUringRequest};
use callgate_core::{Endian, FilterInput, Layout, Place, SeccompData, Word};

const LAYOUTS: [(Layout, Endian); 4] = [
    (Layout::Seccomp, Endian::Little),
    (Layout::Seccomp, Endian::Big),
    (Layout::IoUring(Endian::Little), Endian::Little),
    (Layout::IoUring(Endian::Big), Endian::Big),
];

#[test]
fn the_words_cover_each_bit_of_the_structure_once() {
    for (layout, endian) in LAYOUTS {
        let mut covered = vec![0u32; layout.size() as usize / 4];
        for word in layout.words() {
            let Place { offset, mask } = layout.place(word, endian).unwrap();
            assert!(offset % 4 == 0 && mask != 0, "{word:?}");
            let covered = &mut covered[offset as usize / 4];
            assert_eq!(*covered & mask, 0, "{layout:?} {word:?}");
            *covered |= mask;
        }
        assert!(covered.iter().all(|bits| *bits == u32::MAX), "{layout:?} {covered:x?}");
    }
}

#[test]
fn a_loaded_word_is_the_union_of_its_parts() {
    for (layout, endian) in LAYOUTS {
        for offset in 0..layout.size() + 8 {
            let parts: Vec<(Word, u32)> = layout.parts(offset, endian).collect();
            let is_word = offset < layout.size() && offset % 4 == 0;
            assert_eq!(parts.is_empty(), !is_word, "{layout:?} {offset}");
            let all = parts.iter().fold(0, |all, (_, mask)| all | mask);
            assert_eq!(all, if is_word { u32::MAX } else { 0 });
        }
    }
}

#[test]
fn a_layout_has_no_places_on_machines_of_the_other_byte_order() {
    let layout = Layout::IoUring(Endian::Little);
    assert_eq!(layout.place(io_uring::OPCODE, Endian::Big), None);
    assert_eq!(layout.parts(8, Endian::Big).count(), 0);
    assert_eq!(layout.place(Word::from_index(io_uring::WORDS).unwrap(), Endian::Little), None);
}

/// Loads are found in the bytes of the structure, words in its fields.
fn loads_are_unions<D: FilterInput>(data: D) {
    for endian in [Endian::Little, Endian::Big] {
        let layout = D::layout(endian);
        for offset in 0..layout.size() + 4 {
            let parts = || layout.parts(offset, endian);
            let union = parts().fold(0, |all, (word, _)| all | data.get(word, endian));
            let union = parts().next().map(|_| union);
            assert_eq!(data.load(offset, endian), union, "{data:?} {offset} {endian:?}");
        }
    }
}

fn words_read_back<D: FilterInput>() {
    for endian in [Endian::Little, Endian::Big] {
        let layout = D::layout(endian);
        let mut data = D::default();
        let value = |word: Word| 0x9e37_79b9u32.wrapping_mul(word.index() as u32 + 1);
        for word in layout.words() {
            data.set(word, endian, value(word));
        }
        for word in layout.words() {
            let mask = layout.place(word, endian).unwrap().mask;
            assert_eq!(data.get(word, endian), value(word) & mask, "{word:?} {endian:?}");
        }
        loads_are_unions(data);
    }
}

#[test]
fn inputs_agree_with_their_layouts() {
    words_read_back::<SeccompData>();
    words_read_back::<IoUringRequest>();
}

#[test]
fn results_that_mean_the_same_have_one_representative() {
    let layout = Layout::IoUring(Endian::Little);
    assert_eq!([0, 1, 2, 0x8000_0000].map(|value| layout.result(value)), [0, 1, 1, 1]);
    assert_eq!([0, 1, 0x7fff_0000].map(|value| Layout::Seccomp.result(value)), [0, 1, 0x7fff_0000]);
}
