//! A batch in pieces, without the time in which the thread did not run.
//!
//! On a busy machine the scheduler takes the processor away after a slice of some milliseconds, for several slices. A batch of
//! slow syscalls is as long as a slice, so most batches would contain such a pause; their median would be one of the load. A
//! piece of 50 µs contains one rarely, and then it takes many times as long as the others: it is recognized, and dropped.
//! The same holds for a hypervisor that takes the processor away from the virtual machine.
//!
//! The CPU time of the thread would be simpler, but reading it is a syscall, which the measured filter may deny, and the kernel
//! knows nothing about its hypervisor.

/// How long a piece should take, in nanoseconds: a hundred times as long as reading the clock, and a fiftieth of a slice.
const PIECE: u64 = 50_000;

/// A piece that takes more than this multiple of the median, in quarters, was interrupted.
const LIMIT_IN_QUARTERS: u64 = 6;

/// The times of the pieces of one batch. It allocates no memory after its creation: a filter may deny what that needs.
pub(crate) struct Pieces {
    times: Vec<u64>,
    /// The iterations of a piece.
    size: u32,
}

impl Pieces {
    /// For batches of this number of iterations.
    pub(crate) fn with_capacity(iterations: u32) -> Pieces {
        Pieces { times: Vec::with_capacity(iterations as usize), size: iterations.max(1) }
    }

    /// Chooses the size of pieces; `run` executes a number of iterations, and returns how long they took.
    pub(crate) fn choose<E>(
        &mut self,
        iterations: u32,
        mut run: impl FnMut(u32) -> Result<u64, E>,
    ) -> Result<(), E> {
        self.size = 1;
        while self.size < iterations {
            // A pause is rarely in two of them.
            let time = run(self.size)?.min(run(self.size)?);
            if time.saturating_mul(2) > PIECE {
                break;
            }
            self.size = self.size.saturating_mul(2);
        }
        self.size = self.size.clamp(1, iterations.max(1));
        Ok(())
    }

    /// Executes a batch, and returns how long it takes without interruptions.
    pub(crate) fn batch<E>(
        &mut self,
        iterations: u32,
        mut run: impl FnMut(u32) -> Result<u64, E>,
    ) -> Result<u64, E> {
        self.times.clear();
        // Does not allocate: there is room for `iterations` times.
        for _ in 0..(iterations / self.size).max(1) {
            self.times.push(run(self.size)?);
        }
        Ok(self.uninterrupted() * u64::from(iterations) / u64::from(self.size))
    }

    /// The mean of the pieces that were not interrupted.
    fn uninterrupted(&mut self) -> u64 {
        self.times.sort_unstable();
        let median = self.times.get(self.times.len() / 2).copied().unwrap_or_default();
        let limit = median.saturating_mul(LIMIT_IN_QUARTERS) / 4;
        let kept = self.times.partition_point(|time| *time <= limit).max(1);
        let sum: u64 = self.times.iter().take(kept).sum();
        sum / kept as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: u64 = 6_000_000;

    /// Nanoseconds per iteration as measured, if one takes `each`, and the thread is switched out in each slice of 3 ms.
    fn measured(each: u64, iterations: u32, batches: u32) -> Vec<u64> {
        let (mut clock, mut next) = (0, 1_700_000);
        let mut run = |count: u32| {
            let start = clock;
            clock += each * u64::from(count);
            while clock >= next {
                clock += PAUSE;
                next = clock + 3_000_000;
            }
            Ok::<u64, ()>(clock - start)
        };
        let mut pieces = Pieces::with_capacity(iterations);
        pieces.choose(iterations, &mut run).unwrap();
        let capacity = pieces.times.capacity();
        let batch = |_| pieces.batch(iterations, &mut run).unwrap() / u64::from(iterations);
        let measured = (0..batches).map(batch).collect();
        assert_eq!(pieces.times.capacity(), capacity, "it must not allocate");
        measured
    }

    #[test]
    fn pauses_do_not_count() {
        // Of the 32 filters of an experiment, and of slower work.
        for each in [700, 3_200, 12_000, 90_000] {
            let times = measured(each, 500, 15);
            assert_eq!(times, vec![each; 15]);
        }
    }

    #[test]
    fn a_fast_syscall_has_one_piece_in_a_batch() {
        let mut times = measured(190, 500, 101);
        times.sort_unstable();
        assert_eq!(times[50], 190);
        assert!(times[100] > 190, "the pause is not seen within one piece: {times:?}");
    }

    #[test]
    fn work_that_is_longer_than_a_piece_is_a_piece() {
        let mut counts = Vec::new();
        let mut pieces = Pieces::with_capacity(3);
        let mut run = |count: u32| {
            counts.push(count);
            Ok::<u64, ()>(u64::from(count) * 400_000)
        };
        pieces.choose(3, &mut run).unwrap();
        assert_eq!(pieces.batch(3, &mut run), Ok(1_200_000));
        assert_eq!(counts, [1, 1, 1, 1, 1]);
    }

    #[test]
    fn the_first_error_ends_a_batch() {
        let mut pieces = Pieces { size: 1, ..Pieces::with_capacity(8) };
        let mut runs = 0;
        let mut run = |_| {
            runs += 1;
            if runs == 3 { Err("clock") } else { Ok(100_000) }
        };
        assert_eq!(pieces.batch(8, &mut run), Err("clock"));
        assert_eq!(runs, 3);
    }
}
