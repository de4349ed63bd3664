import type { Appointment, RelatedPerson } from '@medplum/fhirtypes';
import { Link } from 'wouter';
import { nameOf } from '../../../../core/fhir/resource.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { momentIn, offerReason } from '../../../../packages/web/appointments.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import type { Language } from '../../../../packages/web/language.ts';
import { extensionUrls } from '../../../../packages/web/refusal.ts';
import { answersOf } from '../../appointment/answers.ts';
import { conceptText, contactOf, otherNamesIn, payersOf, servicesOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import type { Texts } from '../../texts/en.ts';
import { dateText, dayText, momentText, spanText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import type { AppointmentDetails } from './use-appointment.ts';

const urls = extensionUrls(config);

/** The reason of a cancellation. Codes of the service are translated. */
function reasonText({ cancelationReason }: Appointment, ended: Readonly<Record<string, string>>): string {
  const texts = listOf(cancelationReason?.coding).map(({ code = '' }) => ended[code]);
  // A code alone is not written for people.
  const said = conceptText(cancelationReason);
  return texts.find((text) => text) ?? (said === listOf(cancelationReason?.coding)[0]?.code ? '' : said);
}

/** The time of the patient's consent to the booking of an assistant, or a note that the patient was asked. */
function consentText(
  { appointment, consent }: AppointmentDetails,
  language: Language,
  { consentAsked, consentByLink }: Texts['appointment'],
): string | undefined {
  if (consent === undefined) {
    return appointment.status === 'proposed' && offerReason(appointment, urls) === 'assistant'
      ? consentAsked
      : undefined;
  }
  return `${momentText(consent, language)}, ${consentByLink}`;
}

const textOf = (div: string): string => new DOMParser().parseFromString(div, 'text/html').body.textContent ?? '';

/** A phone number as a link; nothing if there is none. */
export const Phone = ({ number }: { readonly number: string | undefined }) =>
  number ? <a href={`tel:${number.replace(/[^\d+]/g, '')}`}>{number}</a> : null;

/** The people who act for a patient, with their contacts. */
export const Guardians = ({ of }: { readonly of: readonly RelatedPerson[] }) =>
  of.map((relatedPerson) => {
    const email = contactOf(relatedPerson, 'email');
    return (
      <span key={relatedPerson.id} className="guardian">
        {nameOf(relatedPerson)} <Phone number={contactOf(relatedPerson, 'phone')} />{' '}
        {email && <a href={`mailto:${encodeURIComponent(email)}`}>{email}</a>}
      </span>
    );
  });

/** The steps of a visit, as links; nothing for a single appointment. */
function VisitSteps({ details: { appointment, visit } }: { readonly details: AppointmentDetails }) {
  const { language, status } = useTexts();
  return (
    visit.length > 1 && (
      <ol className="steps">
        {visit.map((one) => {
          const time = timeOf(one);
          const when = time ? `${momentText(time.start, language)} ` : '';
          const text = `${when}${otherNamesIn(one) || servicesOf(one)}`;
          const state = one.status === 'booked' ? '' : ` (${status[one.status] ?? one.status})`;
          const day = time && localDayOf(time.start, config.timeZone);
          return (
            <li key={one.id} aria-current={one.id === appointment.id ? 'step' : undefined}>
              {one.id === appointment.id ? (
                text
              ) : (
                <Link href={`/calendar?${day ? `date=${day}&` : ''}open=Appointment/${one.id}`}>{text}</Link>
              )}
              {state}
            </li>
          );
        })}
      </ol>
    )
  );
}

/** The facts about an appointment and its patient. Missing elements are left out; broken ones are shown as stored. */
export function Facts({ details }: { readonly details: AppointmentDetails }) {
  const { language, appointment: words, status, kind, payers } = useTexts();
  const { appointment, patient, names, owner, calendars } = details;
  const time = timeOf(appointment);
  const [phone, email] = [contactOf(patient, 'phone'), contactOf(patient, 'email')];
  const name = (patient && nameOf(patient)) || words.noPatient;
  const who = patient ? <Link href={`/people/${patient.id}`}>{name}</Link> : name;
  const deadline = appointment.status === 'pending' ? momentIn(appointment, urls.deadline) : undefined;
  const held = appointment.status === 'proposed' ? momentIn(appointment, urls.heldUntil) : undefined;
  const rows: readonly (readonly [string, React.ReactNode])[] = [
    [words.time, time ? `${dayText(time.start, language)}, ${spanText(time, language)}` : kind.taken],
    [words.withWhom, calendars],
    [words.visit, details.visit.length > 1 && <VisitSteps details={details} />],
    [words.patient, who],
    [words.birthDate, patient?.birthDate && dateText(patient.birthDate, language)],
    [words.phone, phone && <Phone number={phone} />],
    [words.email, email && <a href={`mailto:${encodeURIComponent(email)}`}>{email}</a>],
    [words.guardian, details.guardians.length > 0 && <Guardians of={details.guardians} />],
    [words.service, servicesOf(appointment)],
    [words.payer, payersOf(appointment, payers, config)],
    [words.status, status[appointment.status] ?? appointment.status],
    [words.deadline, deadline && momentText(deadline, language)],
    [words.heldUntil, held && momentText(held, language)],
    [words.consent, consentText(details, language, words)],
    [words.asked, owner && (names.get(owner) || words.unknown)],
    [words.comment, appointment.comment],
    [words.reason, reasonText(appointment, words.ended)],
  ];
  return (
    <dl className="facts">
      {rows.map(([term, value]) =>
        value ? (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

/** The patient's answers to questionnaires. */
export function Answers({ details: { answers } }: { readonly details: AppointmentDetails }) {
  const { appointment: words } = useTexts();
  const all = answers.flatMap((questionnaireResponse) => {
    const found = answersOf(questionnaireResponse, words);
    // A response without answers shows its readable text.
    return found.length > 0 || !questionnaireResponse.text?.div
      ? found
      : [{ question: '', answers: [textOf(questionnaireResponse.text.div)], level: 0 }];
  });
  return (
    <section>
      <h3>{words.answers}</h3>
      {all.length === 0 && <p>{words.noAnswers}</p>}
      <dl className="answers">
        {all.map(({ question, answers: given, level }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other key, and never change.
          <div key={index} style={{ paddingLeft: `${level}rem` }}>
            <dt>{question}</dt>
            {given.map((text) => (
              <dd key={text}>{text}</dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The history of an appointment, the newest step first. */
export function History({ details: { steps, names } }: { readonly details: AppointmentDetails }) {
  const { language, appointment: words, status } = useTexts();
  return (
    <section>
      <h3>{words.history}</h3>
      <ol className="history">
        {steps.map(({ version, at, by, what, status: became, appointment }) => {
          const time = timeOf(appointment);
          return (
            <li key={version}>
              {at !== undefined && <time>{momentText(at, language)}</time>} {words.step[what]}
              {what !== 'changed' && `: ${status[became] ?? became}`}
              {(what === 'moved' || what === 'made') && time && `, ${momentText(time.start, language)}`}
              {by && ` (${names.get(by) || words.unknown})`}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
