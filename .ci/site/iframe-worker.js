// Copyright 2026 The FedFish-TFF Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Search runs in a worker, which browsers do not start from files. Where the
// site is read from files, a hidden frame takes the worker's place.

if (location.protocol === 'file:') {
  // Copied, and later, as messages are.
  const send = (target, data) => {
    const copy = structuredClone(data);
    setTimeout(() => target.onmessage?.({data: copy}));
  };
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement('iframe');
      this.frame.hidden = true;
      this.started = new Promise((resolve, reject) => {
        this.frame.addEventListener('load', () => {
          const scope = this.frame.contentWindow;
          scope.postMessage = (data) => send(this, data);
          const script = scope.document.createElement('script');
          script.src = new URL(url, location);
          script.onload = () => resolve(scope);
          script.onerror = reject;
          scope.document.body.append(script);
        }, {once: true});
      });
      this.started.catch((error) => this.onerror?.(error));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.started.then((scope) => send(scope, data));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
