//! `serde` for the public data types.
//!
//! | type | form |
//! |---|---|
//! | [`Verdict`](crate::Verdict) | its 32 bits as a number |
//! | [`Arch`] | its name: `"x86_64"`; every spelling of [`Arch::from_name`] is read |
//! | [`Endian`](crate::Endian) | `"little"`, `"big"` |
//! | [`Insn`] | `[code, jt, jf, k]`, as in `struct sock_filter` |
//! | [`Program`], [`LongProgram`], [`SocketProgram`] | a list of instructions, which is checked as by `new` |
//! | [`SyscallSet`] | a list of ranges `[first, last]` |
//! | [`SeccompData`](crate::SeccompData) | its four fields |

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use crate::{Arch, Insn, LongProgram, Program, RawInsn, SocketProgram, SyscallSet};

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Arch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arch, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || D::Error::custom(format!("unknown architecture {name:?}"));
        Arch::from_name(&name).ok_or_else(unknown)
    }
}

impl Serialize for Insn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.op.code(), self.jt, self.jf, self.k).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Insn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Insn, D::Error> {
        let (code, jt, jf, k) = Deserialize::deserialize(deserializer)?;
        Insn::try_from(RawInsn { code, jt, jf, k }).map_err(D::Error::custom)
    }
}

macro_rules! programs {
    ($($program:ident),*) => {$(
        impl Serialize for $program {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.insns().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $program {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$program, D::Error> {
                $program::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    )*};
}

programs!(Program, LongProgram, SocketProgram);

impl Serialize for SyscallSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.ranges().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SyscallSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SyscallSet, D::Error> {
        Ok(SyscallSet::from_ranges(Vec::<(u32, u32)>::deserialize(deserializer)?))
    }
}
