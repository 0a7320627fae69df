//! A browser without a window, driven by the DevTools protocol (<https://chromedevtools.github.io/devtools-protocol>)
//! over a pipe: messages of JSON, each with a zero byte at its end.

use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a page may take until something is true of it.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
    /// The page that calls are for.
    session: Option<String>,
    /// What the page told unasked.
    events: Vec<Json>,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser with an empty page of this size; `None` where there is none and none can be installed.
    pub fn start(width: u32, height: u32) -> Option<Browser> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/browser.sh");
        let found = Command::new(&script).stderr(Stdio::inherit()).output().expect("scripts/browser.sh runs");
        if !found.status.success() {
            return None;
        }
        let path = String::from_utf8(found.stdout).expect("a path").trim().to_string();
        let profile = TempDir::new().expect("a temporary folder");
        // The browser reads from descriptor 3 and writes to 4: the shell gives it its own input and output as these. It
        // ends after five minutes, whatever happens, so that no test waits for ever.
        let mut child = Command::new("sh")
            .args(["-c", "exec timeout 300 \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", &path])
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            // The sandbox does not run as root, and the only page is ours.
            .args(["--no-sandbox", "--hide-scrollbars", "--force-color-profile=srgb"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut b = Browser { child, input, output, calls: 0, session: None, events: Vec::new(), _profile: profile };
        let page = b.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = page["targetId"].clone();
        let attached = b.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        b.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page.enable", "Runtime.enable", "Network.enable"] {
            b.call(domain, json!({}));
        }
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        b.call("Emulation.setDeviceMetricsOverride", size);
        Some(b)
    }

    /// Calls a method; its result.
    pub fn call(&mut self, method: &str, params: Json) -> Json {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).and_then(|()| self.input.flush()).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).expect("the browser answers");
            assert_eq!(bytes.pop(), Some(0), "the browser ended before it answered {method}");
            let message: Json = serde_json::from_slice(&bytes).expect("JSON");
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Events of this kind so far.
    pub fn events(&self, method: &str) -> Vec<&Json> {
        self.events.iter().filter(|e| e["method"] == method).collect()
    }

    /// The value of an expression of JavaScript, or what it promises.
    pub fn value(&mut self, expression: &str) -> Json {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != true {
            assert!(start.elapsed() < MAX_WAIT, "this does not become true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn open(&mut self, page: &Path) {
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", json!({ "url": url }));
        self.wait(&format!("document.readyState == 'complete' && location.href.startsWith({url:?})"));
    }

    /// The middle of the first element that an expression gives, moved into sight.
    fn middle(&mut self, element: &str) -> (f64, f64) {
        let at = self.value(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', inline: 'center'}});
               const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        (at[0].as_f64().expect("a number"), at[1].as_f64().expect("a number"))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        self.call(
            "Input.dispatchMouseEvent",
            json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 }),
        );
    }

    pub fn hover(&mut self, element: &str) {
        let at = self.middle(element);
        self.mouse("mouseMoved", at);
    }

    pub fn click(&mut self, element: &str) {
        let at = self.middle(element);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, at);
        }
    }

    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// What the page looks like, the bytes of a PNG file.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        base64(shot["data"].as_str().expect("data"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// RFC 4648, section 4.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let digit = DIGITS.iter().position(|d| *d == c).expect("base 64");
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
