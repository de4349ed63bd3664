import { isId } from '../../../core/fhir/reference/reference.ts';
import type { Seal } from './seal.ts';

/** Whose appointments a browser may see: ids of patients and appointments. */
export interface Session {
  readonly patients: readonly string[];
  readonly appointments: readonly string[];
}

/** The session of a browser that has booked nothing yet. */
export const noSession: Session = { patients: [], appointments: [] };

/** How long a session lasts, in milliseconds: longer than the 20 hours after which WCAG 2.2.1 asks for no extension. */
export const SESSION_LENGTH = 24 * 3_600_000;

/** How many patients and appointments one session holds; the oldest go first. */
const MOST = 12;

const idsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isId).slice(-MOST) : []);

const merged = (before: readonly string[], added: readonly string[]): string[] =>
  [...new Set([...before.filter((id) => !added.includes(id)), ...added])].slice(-MOST);

/** What two sessions together may see. */
export function joined(session: Session, other: Session): Session {
  return {
    patients: merged(session.patients, other.patients),
    appointments: merged(session.appointments, other.appointments),
  };
}

/** Reads what was sealed as a session or as a link. */
export function sessionIn({ patients, appointments }: Readonly<Record<string, unknown>>): Session {
  return { patients: idsIn(patients), appointments: idsIn(appointments) };
}

/** The session of a browser, from its cookie; none if there is no valid one. */
export async function openSession(seal: Seal, cookie: string | undefined): Promise<Session> {
  const content = cookie === undefined ? 'invalid' : await seal.open('session', cookie);
  return typeof content === 'string' ? noSession : sessionIn(content);
}

/** How long after its appointment a link to it is valid, in milliseconds. */
export const LINK_AFTER = 14 * 86_400_000;

/** The part of a link that proves what it may show. It is valid until two weeks after the appointment. */
export function sealLink(seal: Seal, session: Session, end: number): Promise<string> {
  return seal.close('link', { ...session }, end + LINK_AFTER);
}
