/**
 * The order of a deliberate stop: ask, save, ask the governor, wait for the end, leave. Each step
 * is handed in, so that the order is tested without a browser.
 */

export interface IStopSteps {
  /** Let the person confirm; false ends it here. */
  confirm: () => Promise<boolean>;
  /** Save every open document; a rejection keeps the server. */
  save: () => Promise<void>;
  /** Ask for the stop; a rejection carries the words of the refusal. */
  ask: () => Promise<void>;
  /** Whether the server still answers. */
  answers: () => Promise<boolean>;
  /** Go to the page that tells what became of the server. */
  go: () => void;
  /** Tell the person why nothing was stopped. */
  fail: (step: 'save' | 'ask', error: unknown) => Promise<void>;
  /** Show that it is under way, or that it no longer is. */
  leaving: (leaving: boolean) => void;
  /** Pause between two looks, in ms. */
  pause?: number;
  /** How many looks at most; then the page goes all the same. */
  looks?: number;
}

/** Stop the server; true when the page is leaving. */
export async function stopServer(steps: IStopSteps): Promise<boolean> {
  if (!(await steps.confirm())) {
    return false;
  }
  try {
    await steps.save();
  } catch (error) {
    await steps.fail('save', error);
    return false;
  }
  try {
    await steps.ask();
  } catch (error) {
    await steps.fail('ask', error);
    return false;
  }
  steps.leaving(true);
  // The hub's page would still offer the server as running until it is gone.
  for (let look = 0; look < (steps.looks ?? 60); look++) {
    await new Promise(resolve => setTimeout(resolve, steps.pause ?? 500));
    if (!(await steps.answers())) {
      break;
    }
  }
  steps.go();
  return true;
}
