//! The costs of instructions in the kernels that filters are generated for. Written by `cargo lab kernels costs --update`. Do not edit.

use crate::kernel::Kernel;

/// The newest kernel of each machine, with its JIT compiler.
#[rustfmt::skip]
pub static KERNELS: [Kernel; 2] = [
    Kernel {
        name: "6.12 amd64",
        loads: [1, 1, 1, 1],
        ands: [1, 1],
        sub: 1,
        tax: 1,
        constant: 1,
        shift: 1,
        ja: 1,
        returns: [0, 1, 1],
        jumps: [
            [
                [[2, 2], [2, 2], [2, 3]],
                [[2, 2], [2, 2], [2, 3]],
                [[2, 2], [2, 2], [2, 3]],
                [[3, 3], [3, 3], [3, 4]],
            ],
            [
                [[2, 3], [2, 2], [2, 3]],
                [[2, 3], [2, 2], [2, 3]],
                [[2, 3], [2, 2], [2, 3]],
                [[3, 4], [3, 3], [3, 4]],
            ],
        ],
    },
    Kernel {
        name: "6.12 arm64",
        loads: [1, 1, 1, 1],
        ands: [3, 1],
        sub: 1,
        tax: 1,
        constant: 2,
        shift: 1,
        ja: 1,
        returns: [1, 1, 0],
        jumps: [
            [
                [[2, 2], [2, 2], [2, 3]],
                [[3, 3], [3, 3], [3, 4]],
                [[4, 4], [4, 4], [4, 5]],
                [[4, 4], [4, 4], [4, 5]],
            ],
            [
                [[3, 4], [3, 3], [3, 4]],
                [[3, 4], [3, 3], [3, 4]],
                [[4, 5], [4, 4], [4, 5]],
                [[4, 5], [4, 4], [4, 5]],
            ],
        ],
    },
];
