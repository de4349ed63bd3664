import { useRef, useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { useAnnounce } from './announce.tsx';

/**
 * What a form sends: whether it is under way, and why it was refused. One request at a time: another click meanwhile does
 * nothing.
 *
 * @param asOf - what a refusal is about: it is forgotten when that is no longer the same
 */
export function useSubmit(asOf = '') {
  const announce = useAnnounce();
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{ readonly refusal: Refusal; readonly asOf: string }>();
  const isUnderWay = useRef(false);
  /**
   * @param done - what is said when it was done; nothing if it is empty
   * @returns what was answered; `undefined` if it was refused, or something else was under way
   */
  const submit = async <T extends object>(
    send: () => Promise<T | Refusal>,
    done: string | ((answer: T) => string) = '',
  ): Promise<T | undefined> => {
    if (isUnderWay.current) {
      return undefined;
    }
    isUnderWay.current = true;
    setBusy(true);
    const answer = await send();
    isUnderWay.current = false;
    setBusy(false);
    if (isRefusal(answer)) {
      setRefused({ refusal: answer, asOf });
      return undefined;
    }
    setRefused(undefined);
    const said = typeof done === 'string' ? done : done(answer);
    if (said) {
      announce(said);
    }
    return answer;
  };
  return {
    submit,
    isBusy,
    refusal: refused?.asOf === asOf ? refused.refusal : undefined,
    forget: () => setRefused(undefined),
  };
}
