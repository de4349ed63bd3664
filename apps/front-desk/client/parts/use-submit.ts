import { useEffect, useRef, useState } from 'react';
import { isRefusal, type Refusal, situationOf } from '../../fhir/refusal.ts';
import { useAnnouncements } from './announce.tsx';
import { useTexts } from './use-texts.ts';

/** Says that what somebody did before was refused, wherever they are by now. */
export function useRefused(): (done: string, refusal: Refusal) => void {
  const { announce } = useAnnouncements();
  const { notDone, problem } = useTexts();
  return (done, refusal) => {
    const { title, next } = problem[situationOf(refusal)];
    announce(`${notDone(done)} ${title}. ${next}`, true);
  };
}

/**
 * What a form sends: whether it is under way, and why it was refused. One request at a time: another click meanwhile does
 * nothing.
 *
 * @param asOf - what a refusal is about: it is forgotten when that is no longer the same
 */
export function useSubmit(asOf = '') {
  const { announce, later } = useAnnouncements();
  const sayRefused = useRefused();
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{ readonly refusal: Refusal; readonly asOf: string }>();
  const isUnderWay = useRef(false);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);

  const end = <T extends object>(answer: T | Refusal | undefined, done: string): T | undefined => {
    isUnderWay.current = false;
    setBusy(false);
    if (!answer || !isRefusal(answer)) {
      setRefused(undefined);
      return answer;
    }
    setRefused({ refusal: answer, asOf });
    if (!isShown.current) {
      sayRefused(done, answer);
    }
    return undefined;
  };
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
    const answer = end(await send(), '');
    const said = typeof done === 'string' ? done : answer && done(answer);
    if (answer && said) {
      announce(said);
    }
    return answer;
  };
  /**
   * Sends it after some seconds, until when it can be taken back.
   *
   * @param key - what it changes: the id of a resource
   * @param done - what is said as if it were done
   * @returns what was answered if somebody still waits for it; `undefined` if it was refused or taken back
   */
  const submitLater = async <T extends object>(
    key: string,
    done: string,
    send: () => Promise<T | Refusal>,
  ): Promise<T | undefined> => {
    if (isUnderWay.current) {
      return undefined;
    }
    isUnderWay.current = true;
    const answers: (T | Refusal)[] = [];
    const write = async (): Promise<void> => {
      setBusy(true);
      answers.push(await send());
    };
    await later({ key, text: done, write });
    return end(answers[0], done);
  };
  return {
    submit,
    submitLater,
    isBusy,
    /** Whether somebody still looks at it: where they are is left to them otherwise. */
    isShown: () => isShown.current,
    refusal: refused?.asOf === asOf ? refused.refusal : undefined,
    forget: () => setRefused(undefined),
  };
}
