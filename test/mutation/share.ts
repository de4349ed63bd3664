import vm from 'node:vm';
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core';

/**
 * Lets code that runs in a context of its own, as deployed Bots do, see which mutant is active.
 *
 * @param context - says which one it is
 */
export function shareWithContexts(context: object): void {
  const { runInNewContext } = vm.Script.prototype;
  vm.Script.prototype.runInNewContext = function (globals, options) {
    return runInNewContext.call(
      this,
      Object.assign(globals ?? {}, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: context }),
      options,
    );
  };
}
