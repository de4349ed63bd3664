import type { Appointment } from '@medplum/fhirtypes';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type Refusal, reasonsOf, refusalKindOf } from '../../fhir/refusal.ts';
import { useAnnouncements } from './announce.tsx';
import { Refused, unlessRefused } from './use-loaded.ts';
import { useTexts } from './use-texts.ts';

/** Announces the refusal of an earlier action, wherever the user is by now. */
export function useRefused(): (done: string, refusal: Refusal) => void {
  const { announce } = useAnnouncements();
  const { notDone, problem, reason } = useTexts();
  return (done, refusal) => {
    const { title, next } = problem[refusalKindOf(refusal)];
    announce([notDone(done), `${title}.`, ...reasonsOf(refusal, reason), next].join(' '), true);
  };
}

interface Sent {
  readonly asOf: string;
  readonly send: () => Promise<void>;
}

/** Sends a form, one request at a time, with progress and refusal. The refusal is forgotten when `asOf` changes. */
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
  /** @param done - names the action, to announce its refusal after the form was left */
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
   * @param done - announcement of the success; empty for none
   * @returns `undefined` if it was refused, or another request was in progress
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
   * Sends the request after some seconds, so that it can be undone. `key` is the id of the changed resource, `text`
   * names the person and the change. Returns `undefined` if it was refused or undone.
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
    /** Whether the form is still shown. Otherwise the user is elsewhere and stays there. */
    isShown: () => isShown.current,
    refusal: error instanceof Refused && variables?.asOf === asOf ? error.refusal : undefined,
    forget: reset,
  };
}
