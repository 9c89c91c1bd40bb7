//! Filters that are read from other processes. The other process is this test binary again, started with an
//! environment variable that says what to do.

mod budget;
mod filters;
mod other;
mod reads;
mod refusals;
mod role;
#[cfg(target_arch = "x86_64")]
mod sleeps;
mod tracer;

use std::process::ExitCode;

use budget::the_budget_is_counted_as_the_kernel_counts;
use reads::{
    a_stopped_process_stays_stopped, a_thread_is_found_under_any_name,
    filters_are_read_byte_for_byte_and_the_thread_continues, no_signal_is_lost,
};
use refusals::{
    a_process_with_a_filter_cannot_read_filters, a_process_without_privilege_cannot_read_filters,
    a_thread_that_does_not_stop_is_left_alone, the_error_names_the_tracer,
    threads_whose_filters_cannot_be_read_are_refused_with_the_reason,
};
#[cfg(target_arch = "x86_64")]
use sleeps::{
    a_nanosleep_keeps_its_time_while_filters_are_read,
    a_poll_keeps_its_time_while_filters_are_read, a_signal_ends_a_sleep_while_filters_are_read,
    a_sleep_keeps_its_time_while_ignored_signals_arrive,
};
use tracer::a_tracer_that_ends_at_a_syscall_stop_delivers_no_signal;

/// What this process does if a test started it as the other process.
pub(crate) fn other_process() -> Option<ExitCode> {
    std::env::var(other::ROLE).ok().map(|role| role::other_process(&role))
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    let mut tests = callgate_testing::trials![
        filters_are_read_byte_for_byte_and_the_thread_continues,
        a_thread_is_found_under_any_name,
        a_stopped_process_stays_stopped,
        no_signal_is_lost,
        threads_whose_filters_cannot_be_read_are_refused_with_the_reason,
        the_error_names_the_tracer,
        a_thread_that_does_not_stop_is_left_alone,
        a_process_with_a_filter_cannot_read_filters,
        a_process_without_privilege_cannot_read_filters,
        a_tracer_that_ends_at_a_syscall_stop_delivers_no_signal,
        the_budget_is_counted_as_the_kernel_counts,
    ];
    #[cfg(target_arch = "x86_64")]
    tests.extend(callgate_testing::trials![
        a_nanosleep_keeps_its_time_while_filters_are_read,
        a_poll_keeps_its_time_while_filters_are_read,
        a_sleep_keeps_its_time_while_ignored_signals_arrive,
        a_signal_ends_a_sleep_while_filters_are_read,
    ]);
    tests
}
