// Closes a run with one line in pytest's form, so that whoever counts tests reads one form alone.
export default class Tally {
  onInit() {
    this.start = Date.now();
  }

  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state] = (count[state] ?? 0) + 1;
      }
      if (module.state() === 'failed' && module.errors().length) {
        count.failed += 1;
      }
    }
    const seconds = ((Date.now() - this.start) / 1000).toFixed(2);
    const skipped = count.skipped ? `, ${count.skipped} skipped` : '';
    console.log(
      `===== ${count.passed} passed, ${count.failed} failed${skipped} in ${seconds}s =====`
    );
  }
}
