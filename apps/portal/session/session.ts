import { randomUUID } from 'node:crypto';
import { isId } from '../../../core/fhir/reference.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import type { Seal } from './seal.ts';

/** A patient whose record a session has made, as it was typed: what the record says later is the clinic's. */
interface OwnPatient {
  readonly id: string;
  /** The identifier that only the request which made the record has. */
  readonly mark: string;
  readonly name: string;
  readonly email: string;
}

/** What a browser may see and do. */
export interface Session {
  /** The browser's name, which no other knows: its forms work in no other. Empty before it has chosen a time. */
  readonly browser: string;
  /** It may book for them again, and sees nothing by them. A link adds none. */
  readonly patients: readonly OwnPatient[];
  /** Ids of the appointments that it may see and change. */
  readonly appointments: readonly string[];
  /** The forms that were booked with: the key of each, and the id of its appointment. */
  readonly booked: Readonly<Record<string, string>>;
}

/** The session of a browser that has chosen no time yet. */
export const noSession: Session = { browser: '', patients: [], appointments: [], booked: {} };

/** How long a session lasts, in milliseconds: longer than the 20 hours after which WCAG 2.2.1 asks for no extension. */
export const SESSION_LENGTH = 24 * 3_600_000;

/** How many appointments and forms one session holds, and appointments a link; the oldest go first. */
export const MOST = 12;

/** How many patients a session holds: a cookie has room for no more. */
const MAX_PATIENTS = 3;

const idsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isId).slice(-MOST) : []);

const patientsIn = (value: unknown): OwnPatient[] =>
  (Array.isArray(value) ? value : []).filter(
    (one): one is OwnPatient =>
      isObject(one) && isId(one.id) && [one.mark, one.name, one.email].every((text) => typeof text === 'string'),
  );

const merged = (before: readonly string[], added: readonly string[] = []): string[] =>
  [...new Set([...before.filter((id) => !added.includes(id)), ...added])].slice(-MOST);

/** Whether a session sees nothing of anybody. */
export function isEmpty({ appointments }: Session): boolean {
  return appointments.length === 0;
}

/** A session that sees more. It has a name from then on. */
export function withMore(session: Session, added: Partial<Omit<Session, 'browser'>> = {}): Session {
  const { browser, patients, appointments, booked } = session;
  return {
    browser: browser || randomUUID(),
    patients: [
      ...new Map([...patients, ...(added.patients ?? [])].map((ownPatient) => [ownPatient.id, ownPatient])).values(),
    ].slice(-MAX_PATIENTS),
    appointments: merged(appointments, added.appointments),
    booked: Object.fromEntries(Object.entries({ ...booked, ...added.booked }).slice(-MOST)),
  };
}

/** What is known since both saw the same: it stays, however much the session brings. */
const newer = (known: readonly string[], ids: readonly string[]): readonly string[] =>
  known.slice(known.findLastIndex((id) => ids.includes(id)) + 1);

/** How many sessions are remembered; those that have changed least lately go first. */
const MAX_REMEMBERED = 5_000;

/** What sessions have come to see: of two answers under way at once, the cookie of one would take away what the other gave. */
export function createSessions() {
  const known = new Map<string, Session>();
  const whole = (session: Session): Session => {
    const before = known.get(session.browser) ?? session;
    return withMore(withMore(before, session), {
      appointments: newer(before.appointments, session.appointments),
    });
  };
  return {
    /** A session with what it has come to see meanwhile. */
    whole: (session: Session): Session => (known.has(session.browser) ? whole(session) : session),
    /** The same, which is remembered. */
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

/** The session of a browser, from its cookie; none if there is no valid one. */
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

/** How long after its appointment a link to it is valid, in milliseconds. */
export const LINK_AFTER = 14 * 86_400_000;

/** The part of a link that proves that it may show some appointments. It is valid until two weeks after the last ends. */
export function sealLink(seal: Seal, appointments: readonly string[], end: number): Promise<string> {
  return seal.close('link', { appointments }, end + LINK_AFTER);
}

/** The appointments that a link shows, or why it shows none. */
export async function openLink(seal: Seal, text: string): Promise<readonly string[] | 'expired' | 'invalid'> {
  const content = await seal.open('link', text);
  return typeof content === 'string' ? content : idsIn(content.appointments);
}
