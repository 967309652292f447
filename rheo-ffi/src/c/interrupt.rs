//! Interrupt
//!
//! Ends waits from another thread. A fetch that waits under an interrupt returns what it has, usually nothing, with
//! `RHEO_OK`, once the interrupt is fired. A fired interrupt ends every later wait at once until it is reset.

use super::boundary::{call, create, free, shared, view};
use super::error::rheo_error;
use super::values::rheo_status;
use rheo_core::Interrupt;

/// Ends waits. Any thread, several at once. May be freed while a fetch waits under it.
pub struct rheo_interrupt(pub(super) Interrupt);

/// Makes an interrupt that is not fired. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_interrupt_new(out: *mut *mut rheo_interrupt, error: *mut *mut rheo_error) -> rheo_status {
    create(out, error, || Ok(rheo_interrupt(Interrupt::new())))
}

/// Ends every wait under this interrupt, now and until it is reset. Takes a lock: not for signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_interrupt_fire(
    interrupt: *const rheo_interrupt,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("interrupt", interrupt)?.0.fire();
        Ok(())
    })
}

/// Lets waits wait again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_interrupt_reset(
    interrupt: *const rheo_interrupt,
    error: *mut *mut rheo_error,
) -> rheo_status {
    call(error, || {
        shared("interrupt", interrupt)?.0.reset();
        Ok(())
    })
}

/// Whether it was fired and not reset since; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_interrupt_is_fired(interrupt: *const rheo_interrupt) -> bool {
    view(interrupt, |interrupt| interrupt.0.is_fired())
}

/// Frees an interrupt; NULL is fine. Options that hold it keep working with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rheo_interrupt_free(interrupt: *mut rheo_interrupt) {
    free(interrupt);
}
