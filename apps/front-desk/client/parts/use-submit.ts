import type { Appointment } from '@medplum/fhirtypes';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type Refusal, reasonsOf, situationOf } from '../../fhir/refusal.ts';
import { useAnnouncements } from './announce.tsx';
import { Refused, unlessRefused } from './use-loaded.ts';
import { useTexts } from './use-texts.ts';

/** Says that what somebody did before was refused, wherever they are by now. */
export function useRefused(): (done: string, refusal: Refusal) => void {
  const { announce } = useAnnouncements();
  const { notDone, problem, reason } = useTexts();
  return (done, refusal) => {
    const { title, next } = problem[situationOf(refusal)];
    announce([notDone(done), `${title}.`, ...reasonsOf(refusal, reason), next].join(' '), true);
  };
}

/** What is sent, and what a refusal of it is about. */
interface Sent {
  readonly asOf: string;
  readonly send: () => Promise<void>;
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
  const { mutateAsync, isPending, error, variables, reset } = useMutation<void, Error, Sent>({
    mutationFn: ({ send }) => send(),
  });
  const isUnderWay = useRef(false);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);

  const release = (): void => {
    isUnderWay.current = false;
  };
  /** @param done - what is said not to be done if it was refused and nobody looks at it any more */
  const carryOut = async <T extends object>(send: () => Promise<T | Refusal>, done: string): Promise<T | undefined> => {
    let accepted: T | undefined;
    const keep = async (): Promise<void> => {
      accepted = await unlessRefused(send());
    };
    await mutateAsync({ asOf, send: keep }).catch((problem: unknown) => {
      if (!(problem instanceof Refused)) {
        throw problem;
      }
      if (!isShown.current) {
        sayRefused(done, problem.refusal);
      }
    });
    return accepted;
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
    const answer = await carryOut(send, '').finally(release);
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
   * @param text - whose it is, and what it will be
   * @param becomes - the appointment as it will be
   * @returns what was answered if somebody still waits for it; `undefined` if it was refused or taken back
   */
  const submitLater = async <T extends object>(
    key: string,
    text: string,
    send: () => Promise<T | Refusal>,
    becomes?: Appointment,
  ): Promise<T | undefined> => {
    if (isUnderWay.current) {
      return undefined;
    }
    isUnderWay.current = true;
    let answer: T | undefined;
    const write = async (): Promise<void> => {
      answer = await carryOut(send, text);
    };
    await later({ key, text, write, becomes }).finally(release);
    return answer;
  };
  return {
    submit,
    submitLater,
    isBusy: isPending,
    /** Whether somebody still looks at it: where they are is left to them otherwise. */
    isShown: () => isShown.current,
    refusal: error instanceof Refused && variables?.asOf === asOf ? error.refusal : undefined,
    forget: reset,
  };
}
