import { randomUUID } from 'node:crypto';
import { isId } from '../../../core/fhir/reference.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import type { Seal } from './seal.ts';

/**
 * A Patient that the session created, with the name and e-mail address as entered. Later changes of the record are the
 * clinic's, and not shown.
 */
interface OwnPatient {
  readonly id: string;
  /** The identifier of the request that created the record. */
  readonly mark: string;
  readonly name: string;
  readonly email: string;
  /** Whether the visitor booked for themselves. */
  readonly isSelf?: boolean;
}

/** The access rights of a browser. */
export interface Session {
  /** Secret random id of the browser, which binds its forms to it. Empty before a time was chosen. */
  readonly browser: string;
  /** The browser may book for these patients again, but not read their records. A link adds no patients. */
  readonly patients: readonly OwnPatient[];
  /** Ids of the appointments that the browser may see and change. */
  readonly appointments: readonly string[];
  /** The submitted booking forms: form key to appointment id. */
  readonly booked: Readonly<Record<string, string>>;
}

/** The session before a time was chosen. */
export const noSession: Session = { browser: '', patients: [], appointments: [], booked: {} };

/** Lifetime of a session, in milliseconds: longer than the 20 hours of WCAG 2.2.1, which then requires no extension. */
export const SESSION_LENGTH = 24 * 3_600_000;

/** Maximum of appointments and forms of a session, and of appointments of a link; the oldest are removed first. */
export const MAX = 12;

/** Maximum of patients of a session: a cookie has room for no more. */
const MAX_PATIENTS = 3;

const idsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isId).slice(-MAX) : []);

const patientsIn = (value: unknown): OwnPatient[] =>
  (Array.isArray(value) ? value : []).filter(
    (one): one is OwnPatient =>
      isObject(one) && isId(one.id) && [one.mark, one.name, one.email].every((text) => typeof text === 'string'),
  );

const merged = (before: readonly string[], added: readonly string[] = []): string[] =>
  [...new Set([...before.filter((id) => !added.includes(id)), ...added])].slice(-MAX);

/** Whether the session has no access to any appointment. */
export function isEmpty({ appointments }: Session): boolean {
  return appointments.length === 0;
}

/** Adds access rights to a session, and a browser id if it has none. */
export function withMore(session: Session, added: Partial<Omit<Session, 'browser'>> = {}): Session {
  const { browser, patients, appointments, booked } = session;
  return {
    browser: browser || randomUUID(),
    patients: [
      ...new Map([...patients, ...(added.patients ?? [])].map((ownPatient) => [ownPatient.id, ownPatient])).values(),
    ].slice(-MAX_PATIENTS),
    appointments: merged(appointments, added.appointments),
    booked: Object.fromEntries(Object.entries({ ...booked, ...added.booked }).slice(-MAX)),
  };
}

/** The known ids after the last id that both lists contain. They were added after the cookie was issued. */
const newer = (known: readonly string[], ids: readonly string[]): readonly string[] =>
  known.slice(known.findLastIndex((id) => ids.includes(id)) + 1);

/** Maximum of sessions in memory; the least recently changed is removed first. */
const MAX_REMEMBERED = 5_000;

/** Rights of sessions in memory: of two concurrent responses, the second cookie would remove rights of the first. */
export function createSessions() {
  const known = new Map<string, Session>();
  const whole = (session: Session): Session => {
    const before = known.get(session.browser) ?? session;
    return withMore(withMore(before, session), {
      appointments: newer(before.appointments, session.appointments),
    });
  };
  return {
    /** Adds the rights from memory to the session of a cookie. */
    whole: (session: Session): Session => (known.has(session.browser) ? whole(session) : session),
    /** Like `whole`, and stores the session in memory. */
    keep(session: Session): Session {
      const kept = whole(session);
      known.delete(kept.browser);
      known.set(kept.browser, kept);
      const [oldest = ''] = known.keys();
      if (known.size > MAX_REMEMBERED) {
        known.delete(oldest);
      }
      return kept;
    },
    end: ({ browser }: Session): boolean => known.delete(browser),
  };
}

/** Reads the session of a cookie; returns `noSession` if the cookie is invalid. */
export async function openSession(seal: Seal, cookie: string | undefined): Promise<Session> {
  const content = cookie === undefined ? 'invalid' : await seal.open('session', cookie);
  if (typeof content === 'string' || typeof content.browser !== 'string') {
    return noSession;
  }
  const { browser, patients, appointments, booked } = content;
  const forms = Object.entries({ ...(typeof booked === 'object' ? booked : {}) });
  return {
    browser,
    patients: patientsIn(patients),
    appointments: idsIn(appointments),
    booked: Object.fromEntries(forms.filter((entry): entry is [string, string] => isId(entry[1]))),
  };
}

/** Validity of a link after the end of its last appointment, in milliseconds. */
export const LINK_AFTER = 14 * 86_400_000;

/** Seals the access to appointments into a link, valid until two weeks after `end`. */
export function sealLink(seal: Seal, appointments: readonly string[], end: number): Promise<string> {
  return seal.close('link', { appointments }, end + LINK_AFTER);
}

/** Returns the ids of a link's appointments, or the reason why the link is not valid. */
export async function openLink(seal: Seal, text: string): Promise<readonly string[] | 'expired' | 'invalid'> {
  const content = await seal.open('link', text);
  return typeof content === 'string' ? content : idsIn(content.appointments);
}
