//! The way back onto the loop of an environment, from any thread: answers of the pool, wake-ups of waits, telemetry.
//!
//! One thread-safe function for all of them. It is called once for whatever came since the loop last looked, and on its
//! own keeps no process alive.

use crate::answer::Answer;
use crate::home::{Home, Ticket};
use crate::js::{Js, Outcome, Value};
use crate::telemetry::Told;
use napi::sys;
use parking_lot::Mutex;
use rheo_core::Result;
use rheo_core::backend::Watch;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// The most telemetry that waits for the loop; what is beyond is counted and dropped.
const MOST_TOLD: usize = 1 << 16;

/// The loop of one environment.
pub(crate) struct Loop {
    state: Mutex<State>,
}

struct State {
    /// Nothing once the environment has ended.
    function: Option<ThreadSafe>,
    /// Whether the function was called and the loop has not looked yet.
    called: bool,
    mail: Mail,
}

#[derive(Default)]
struct Mail {
    answers: Vec<(Ticket, Result<Answer>)>,
    woken: Vec<Arc<Doorbell>>,
    told: Vec<Told>,
    untold: u64,
}

#[derive(Clone, Copy)]
struct ThreadSafe(sys::napi_threadsafe_function);

// SAFETY: Node's thread-safe functions may be called from any thread.
unsafe impl Send for ThreadSafe {}

/// What is on the loop's side, for its own thread only.
pub(crate) struct Receiver {
    home: RefCell<Option<Rc<Home>>>,
    on_mail: sys::napi_ref,
    watches: RefCell<Watches>,
    event_loop: Arc<Loop>,
}

#[derive(Default)]
struct Watches {
    last: u32,
    open: HashMap<u32, Watch>,
}

impl Loop {
    /// Ties a loop to this environment. `on_mail` is called with the numbers of the watches that were woken, and with
    /// what is told: a list of telemetry and how much of it was dropped.
    pub(crate) fn tie(js: Js, on_mail: Value) -> Outcome<Rc<Receiver>> {
        let event_loop =
            Arc::new(Loop { state: Mutex::new(State { function: None, called: false, mail: Mail::default() }) });
        let receiver = Rc::new(Receiver {
            home: RefCell::default(),
            on_mail: js.keep(on_mail)?,
            watches: RefCell::default(),
            event_loop: Arc::clone(&event_loop),
        });
        let context = Rc::into_raw(Rc::clone(&receiver)).cast_mut().cast::<c_void>();
        let (name, none) = (js.string("rheo")?, ptr::null_mut());
        let mut function = ptr::null_mut();
        // SAFETY: the environment is valid on this thread; the context lives until `ended`, which Node calls once.
        let status = unsafe {
            sys::napi_create_threadsafe_function(
                js.env(),
                none,
                none,
                name,
                0,
                1,
                context,
                Some(ended),
                context,
                Some(look),
                &mut function,
            )
        };
        if status == sys::Status::napi_ok {
            event_loop.state.lock().function = Some(ThreadSafe(function));
            event_loop.let_go(js);
        }
        Ok(receiver)
    }

    /// Keeps the process alive until `let_go`. On the loop's thread.
    pub(crate) fn hold(&self, js: Js) {
        if let Some(function) = self.state.lock().function {
            // SAFETY: the function is open as long as it is in the state, and this is its environment's thread.
            unsafe { sys::napi_ref_threadsafe_function(js.env(), function.0) };
        }
    }

    /// Keeps the process alive no longer. On the loop's thread.
    pub(crate) fn let_go(&self, js: Js) {
        if let Some(function) = self.state.lock().function {
            // SAFETY: as above.
            unsafe { sys::napi_unref_threadsafe_function(js.env(), function.0) };
        }
    }

    /// Sends an answer to the loop. When that has ended, nobody is there to get it; leases are given back then.
    pub(crate) fn answer(&self, ticket: Ticket, answer: Result<Answer>) {
        self.post(|mail| mail.answers.push((ticket, answer)));
    }

    /// Sends telemetry to the loop.
    pub(crate) fn tell(&self, told: Told) {
        self.post(|mail| {
            if mail.told.len() < MOST_TOLD {
                mail.told.push(told);
            } else {
                mail.untold += 1;
            }
        });
    }

    fn post(&self, put: impl FnOnce(&mut Mail)) {
        let mut state = self.state.lock();
        let Some(function) = state.function else { return };
        put(&mut state.mail);
        if !state.called {
            // SAFETY: the function is open: it leaves the state, under this lock, before Node frees it.
            let status = unsafe {
                let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
                sys::napi_call_threadsafe_function(function.0, ptr::null_mut(), mode)
            };
            state.called = status == sys::Status::napi_ok;
        }
    }
}

/// What a watch rings. It rings once until the loop has looked.
struct Doorbell {
    number: u32,
    rung: AtomicBool,
    event_loop: Arc<Loop>,
}

impl Wake for Doorbell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.event_loop.post(|mail| mail.woken.push(Arc::clone(self)));
        }
    }
}

impl Receiver {
    pub(crate) fn event_loop(&self) -> &Arc<Loop> {
        &self.event_loop
    }

    pub(crate) fn set_home(&self, home: &Rc<Home>) {
        *self.home.borrow_mut() = Some(Rc::clone(home));
    }

    /// Watches, and gives the number under which it will be told of.
    pub(crate) fn watch(&self, watch: impl FnOnce(&Waker) -> Result<Watch>) -> Result<u32> {
        let number = {
            let mut watches = self.watches.borrow_mut();
            watches.last = watches.last.wrapping_add(1);
            watches.last
        };
        let event_loop = Arc::clone(&self.event_loop);
        let waker = Waker::from(Arc::new(Doorbell { number, rung: AtomicBool::new(false), event_loop }));
        let watch = watch(&waker)?;
        self.watches.borrow_mut().open.insert(number, watch);
        Ok(number)
    }

    /// Ends a watch.
    pub(crate) fn unwatch(&self, number: u32) {
        let ended = self.watches.borrow_mut().open.remove(&number);
        drop(ended);
    }

    /// Looks at what was sent.
    pub(crate) fn receive(&self, js: Js) -> Outcome<()> {
        let mail = {
            let mut state = self.event_loop.state.lock();
            state.called = false;
            std::mem::take(&mut state.mail)
        };
        let home = self.home.borrow().clone();
        let Some(home) = home else { return Ok(()) };
        for (ticket, answer) in mail.answers {
            home.settle(js, &ticket, answer);
        }
        if mail.woken.is_empty() && mail.told.is_empty() {
            return Ok(());
        }
        let mut woken = Vec::with_capacity(mail.woken.len());
        for bell in mail.woken {
            // Before the loop looks: what comes after is rung for again.
            bell.rung.store(false, Ordering::Release);
            woken.push(js.number(f64::from(bell.number))?);
        }
        let told = mail.told.iter().map(|told| told.to_js(js)).collect::<Outcome<Vec<Value>>>()?;
        let arguments = [js.array(&woken)?, js.array(&told)?, js.number(mail.untold as f64)?];
        js.invoke(js.kept(self.on_mail)?, &arguments).map(drop)
    }
}

unsafe extern "C" fn look(env: sys::napi_env, _: Value, context: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    // SAFETY: the context is the receiver of `Loop::tie`, which `ended` has not given up yet; Node calls this on the
    // environment's thread.
    let (receiver, js) = unsafe { (&*context.cast::<Receiver>(), Js::new(env)) };
    let _ = rheo::handle::guard(|| {
        // What fails here has thrown, and Node reports what its callbacks throw.
        let _ = receiver.receive(js);
        Ok(())
    });
}

unsafe extern "C" fn ended(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: the context is what `Loop::tie` gave away, and this is called once.
    let receiver = unsafe { Rc::from_raw(context.cast_const().cast::<Receiver>()) };
    let mail = {
        let mut state = receiver.event_loop.state.lock();
        state.function = None;
        std::mem::take(&mut state.mail)
    };
    let watches = std::mem::take(&mut receiver.watches.borrow_mut().open);
    let home = receiver.home.borrow_mut().take();
    let _ = rheo::handle::guard(|| {
        drop((mail, watches, home));
        Ok(())
    });
}
