// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are sources, and have template strings in them

/** A change of a source file: a text that stands in it exactly once, and what replaces it. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A way to break a rule of the specification. */
export interface Break {
  /** The rule, as docs/conformance.md calls it. */
  readonly rule: string;
  readonly edits: readonly Edit[];
  /** The names of those tests of its row that must fail; all of them, if absent. */
  readonly fails?: readonly string[];
}

const edit = (file: string, from: string, to: string): Edit => ({ file, from, to });

const transaction = 'core/booking/book/transaction.ts';
const profile = 'core/booking/appointment/profile.ts';
const profiles = 'profiles/profiles.ts';
const persons = 'core/booking/book/resolve-participants.ts';
const answers = 'core/booking/book/request/questionnaire-response.ts';
const terminology = 'profiles/terminology.ts';
const search = 'gateway/search/rewrite.ts';
const async = 'gateway/interactions/async-book.ts';
const immutable = 'core/booking/appointment/elements.ts';
const events = 'core/notifications/events/appointment-events.ts';

const ignoring = (condition: string): readonly Edit[] => [
  edit(
    search,
    'if (representation.includes(sent.name)) {',
    `if (representation.includes(sent.name) || (${condition})) {`,
  ),
];

const unchecked = {
  serviceType: [
    edit(profile, '...codingIssues(value.serviceType, `${path}.serviceType`, allowsText),', ''),
    edit(profiles, "...withCode('Appointment.serviceType'),", ''),
  ],
  specialty: [
    edit(profile, '...codingIssues(value.specialty, `${path}.specialty`, allowsText),', ''),
    edit(profiles, "...withCode('Appointment.specialty'),", ''),
  ],
  priority: edit(profiles, 'expression: codedPriority(priorityExtension),', "expression: 'true',"),
};

const tags = {
  appointment: edit(
    transaction,
    '...metaOfSubmitted({ tag: tags, profile: known }, owner, context.config, profiles),',
    `...(({ tag: all = [], ...rest }) => ({ ...rest, tag: all.filter(({ code }) => code !== 'external') }))(
      metaOfSubmitted({ tag: tags, profile: known }, owner, context.config, profiles),
    ),`,
  ),
  everywhere: edit(
    'core/fhir/tags.ts',
    'tag: [...kept, ...(own.length > 0 ? [external] : []), ...own] };',
    'tag: [...kept, ...own] };',
  ),
};

const statusOfJob = "return answer ?? problem('bad-gateway', 'The result of the booking cannot be read.');";

const fhirPathPatch = 'core/booking/patch/fhirpath-patch.ts';
const withoutOperation = (name: string): Break => ({
  rule: 'PATCH on Appointment, FHIRPath Patch at least',
  edits: [edit(fhirPathPatch, 'found : compilers[type](', `found : type === '${name}' ? [] : compilers[type](`)],
});

const changeable = (from: string, to = ''): Break => ({
  rule: 'slot, start, end and the patient cannot be changed: 400 with a coded outcome',
  edits: [edit(immutable, from, to)],
});

const untold = (rule: string, condition: string, ...fails: readonly string[]): Break => ({
  rule,
  edits: [edit(events, '    isInTime &&', `    isInTime &&\n    ${condition} &&`)],
  ...(fails.length > 0 && { fails }),
});

/** For each row of docs/conformance.md, ways to break its rule; each test that the row names fails for one of them. */
export const breaks: readonly Break[] = [
  {
    rule: '`Appointment.id` is kept on re-submission',
    edits: [edit(transaction, 'previous ? changeEntry(previous, appointment, context) : createEntry', 'createEntry')],
  },
  {
    rule: '`meta.tag` `external` marks what comes from outside',
    edits: [tags.appointment],
    fails: ['book-free-slot: %s'],
  },
  { rule: '`meta.tag` `external` marks what comes from outside', edits: [tags.everywhere] },
  {
    rule: '`meta.profile` contains LocalTermin',
    edits: [edit(transaction, "? [] : [artefactUri(context.config, 'LocalTermin')];", '? [] : [];')],
  },
  {
    rule: '`start` and `end` are instants, stored in UTC',
    edits: [
      edit(
        transaction,
        '...(interval && { start: formatInstant(interval.start), end: formatInstant(interval.end) }),',
        '',
      ),
    ],
  },
  {
    rule: '`start` and `end` are instants, stored in UTC',
    edits: [
      edit(
        'core/fhir/instant.ts',
        'const time = Date.parse(value as string);',
        'const time = Date.parse(`${String(value).slice(0, 19)}Z`);',
      ),
    ],
  },
  {
    rule: 'codings of service type and specialty have system and code',
    edits: unchecked.serviceType,
    fails: ['a service type without a system'],
  },
  {
    rule: 'codings of service type and specialty have system and code',
    edits: unchecked.specialty,
    fails: ['a specialty that is text only'],
  },
  {
    rule: '`_priority` has the shape of LocalTerminPriorityExtension',
    edits: [
      edit(profile, 'position === undefined || second !== undefined', 'position === undefined'),
      unchecked.priority,
    ],
    fails: ['two priorities'],
  },
  {
    rule: '`_priority` has the shape of LocalTerminPriorityExtension',
    edits: [
      edit(profile, 'return codingIssues([concept], conceptPath)', 'return codingIssues([], conceptPath)'),
      unchecked.priority,
      edit('profiles/extensions.ts', "more: withCode('Extension.value[x]'),", ''),
    ],
    fails: ['a priority without a system'],
  },
  {
    rule: 'a referenced patient exists and is active, even if provisional',
    edits: [edit(persons, 'return submitted || isActivePatient(found) ? [] : [inactive(expression)];', 'return [];')],
    fails: ['an inactive patient', 'a merged patient'],
  },
  {
    rule: 'a referenced patient exists and is active, even if provisional',
    edits: [edit(persons, '...(isActivePatient(known ?? patient.value) ? [] : [inactive(patient.path)]),', '')],
    fails: ['an inactive patient handed over again'],
  },
  {
    rule: '`QuestionnaireResponse.text` is filled',
    edits: [
      edit(answers, "return typeof div === 'string' && textOf(div) !== '';", 'return true;'),
      edit(profiles, "{ id: 'QuestionnaireResponse.text', min: 1 },", ''),
    ],
  },
  {
    rule: 'questions and answers are in the response itself',
    edits: [
      edit(answers, "...(typeof item?.text === 'string' && item.text.trim() !== '' ? [] : [itemPath]),", ''),
      edit(
        profiles,
        "expression: 'item.all(text.exists()) and answer.item.all(text.exists())',",
        "expression: 'true',",
      ),
      edit(profiles, "{ id: 'QuestionnaireResponse.item.text', min: 1 },", ''),
    ],
  },
  {
    rule: 'questions and answers are in the response itself',
    edits: [
      edit(answers, '...untitledItems(item?.item, itemPath),', ''),
      edit(
        profiles,
        "expression: 'item.all(text.exists()) and answer.item.all(text.exists())',",
        "expression: 'true',",
      ),
    ],
    fails: ['an item below another one without its question'],
  },
  {
    rule: '`QuestionnaireResponse.questionnaire` is filled',
    edits: [
      edit(
        transaction,
        'const { id: _, meta, ...response } = value;',
        'const { id: _, meta, questionnaire: __, ...response } = value;',
      ),
    ],
  },
  {
    rule: 'all code systems of the services are exposed, by `context-type-value`',
    edits: [
      edit(terminology, '...(usedIn && { useContext: usedIn.map((type) => usageContext(usage, type, config)) }),', ''),
    ],
  },
  {
    rule: 'all code systems of the services are exposed, by `context-type-value`',
    edits: [
      edit(
        terminology,
        "concepts: specialties,\n    usedIn: ['HealthcareService', 'Schedule'],",
        'concepts: specialties,',
      ),
    ],
  },
  {
    rule: 'not only for HealthcareService',
    edits: [
      edit(
        terminology,
        "concepts: services,\n    usedIn: ['HealthcareService', 'Schedule'],",
        "concepts: services,\n    usedIn: ['HealthcareService'],",
      ),
    ],
  },
  {
    rule: '`GET /Schedule`, also by `actor`: schedules open for booking',
    edits: [edit(search, "return [{ name: 'active:not', value: 'false' }];", 'return [];')],
    fails: [
      'schedules-inactive: %s',
      'a Schedule that does not say whether it is active is open for booking; an inactive one is not',
    ],
  },
  {
    rule: '`GET /Schedule`, also by `actor`: schedules open for booking',
    edits: ignoring("type === 'Schedule' && sent.name === 'actor'"),
    fails: ['schedules-by-actor: %s', 'schedules-by-actors: %s'],
  },
  {
    rule: '`GET /Slot` by schedule and status; chained over actors',
    edits: ignoring("type === 'Slot' && sent.name === 'status'"),
    fails: ['slots-free: %s'],
  },
  {
    rule: '`GET /Slot` by schedule and status; chained over actors',
    edits: ignoring("type === 'Slot' && sent.name === 'schedule'"),
    fails: ['slots-free: %s'],
  },
  {
    rule: '`GET /Slot` by schedule and status; chained over actors',
    edits: ignoring("type === 'Slot' && sent.name === 'start'"),
    fails: ['free slots of a schedule, from a moment on'],
  },
  {
    rule: '`GET /Slot` by schedule and status; chained over actors',
    edits: ignoring("sent.name.includes('.')"),
    fails: ['slots-by-type-of-service: %s'],
  },
  {
    rule: '`POST /Appointment/$book`: `proposed` becomes `booked`',
    edits: [
      edit(
        'core/booking/book/transaction.ts',
        "if (isKept || confirmationOf(schedules, config) === 'automatic') {",
        'if (isKept) {',
      ),
    ],
  },
  {
    rule: 'not confirmed at once: `pending`, 202',
    edits: [
      edit(
        'core/booking/book/slots/service-type.ts',
        "wishes.includes('manual') ? 'manual' : 'automatic'",
        "'automatic'",
      ),
    ],
  },
  {
    rule: 'not confirmed at once: `pending`, 202',
    edits: [edit('gateway/bots/booking-response.ts', 'pending: 202,', 'pending: 201,')],
  },
  {
    rule: 'patient handed over in the operation',
    edits: [edit(persons, 'entries: [...(patient?.entries ?? []), ...(relatedPerson', 'entries: [...(relatedPerson')],
  },
  {
    rule: 'patient handed over in the operation',
    edits: [
      edit(persons, 'withMissing(stored, [patient?.reference, relatedPerson', 'withMissing(stored, [relatedPerson'),
    ],
  },
  { rule: 'patient handed over in the operation', edits: [tags.everywhere] },
  {
    rule: '`patientSubmittedInformation`',
    edits: [
      edit(
        transaction,
        '[...(sent.supportingInformation ?? []), ...answers];',
        '[...(sent.supportingInformation ?? [])];',
      ),
    ],
  },
  {
    rule: '`patientSubmittedInformation`',
    edits: [edit(transaction, '...(patient && { subject: patient }),', '')],
  },
  {
    rule: 'asynchronous execution: POST with `Prefer: respond-async`',
    edits: [edit('gateway/interactions/book.ts', 'if (exchange.prefersAsync && ', 'if (false && ')],
  },
  {
    rule: 'it is answered with 202 and an absolute `Content-Location`',
    edits: [
      edit(async, 'const location = `${config.baseUrl}/async/${body.id}`;', 'const location = `async/${body.id}`;'),
    ],
  },
  {
    rule: 'it is answered with 202 and an absolute `Content-Location`',
    edits: [
      edit(
        async,
        "status: 202,\n      headers: { 'content-location'",
        "status: 200,\n      headers: { 'content-location'",
      ),
    ],
  },
  {
    rule: 'its errors are 4xx or 5xx with an OperationOutcome',
    edits: [edit(async, statusOfJob, statusOfJob.replace('answer', 'answer ? { ...answer, status: 200 } : answer'))],
  },
  {
    rule: 'its errors are 4xx or 5xx with an OperationOutcome',
    edits: [edit(async, statusOfJob, statusOfJob.replace('answer', 'answer ? { status: answer.status } : answer'))],
  },
  {
    rule: 're-submission with unchanged `id` moves the appointment if it is available',
    edits: [edit('core/booking/book/resubmission/reschedule.ts', '.filter(canBeMoved)', '.filter(() => false)')],
    fails: ['moves the appointment: 201, same id, new version, its old slot free'],
  },
  {
    rule: 're-submission with unchanged `id` moves the appointment if it is available',
    edits: [
      edit(
        'core/booking/book/rules.ts',
        '  slotIssues,\n',
        '  (situation) => (situation.earlier.previous ? [] : slotIssues(situation)),\n',
      ),
    ],
    fails: ['not available in the changed form: 409, and not one byte changed'],
  },
  ...['add', 'insert', 'replace', 'move', 'delete'].map(withoutOperation),
  changeable("changedBy: 'book', compared: slots, "),
  ...['start', 'end'].map((name) =>
    changeable(`${name}: { isRequired: true, changedBy: 'book',`, `${name}: { isRequired: true,`),
  ),
  changeable('...patientIssues(stored, result, baseUrl),'),
  {
    rule: 'cancelling by PATCH',
    edits: [
      edit(
        'core/booking/appointment/status.ts',
        'cancelled: everybody,\n      arrived: clinic,',
        'cancelled: clinic,\n      arrived: clinic,',
      ),
    ],
  },
  {
    rule: 'cancelling by PATCH',
    edits: [
      edit('bots/booking/patch.ts', 'const isFollowed = isSound && result', 'const isFollowed = false && result'),
    ],
  },
  {
    rule: '`POST /Patient`',
    edits: [edit('gateway/http/response.ts', '...(status === 201 && {', '...(status === 200 && {')],
  },
  {
    rule: '`POST /Patient`',
    edits: [
      edit(
        'core/booking/patient/submit.ts',
        'patient: isRequestor ? { ...patient, meta: metaOfSubmitted(patient.meta, profileId, config) } : patient',
        'patient',
      ),
    ],
  },
  {
    rule: '`PUT /Patient/{id}`',
    edits: [
      edit(
        'gateway/interactions/patient.ts',
        "await storePatient('PUT', path, headers, checked.patient, exchange, context);",
        'stored;',
      ),
    ],
  },
  {
    rule: '`PUT /Patient/{id}`',
    edits: [edit('core/booking/patient/submit.ts', ', ...(stored?.tag ?? []).filter(isOwnership)];', '];')],
  },
  {
    rule: 'the status of a booking can be read and searched at any time',
    edits: [edit('gateway/interactions/read.ts', 'if (!resource) {', "if (!resource || type === 'Appointment') {")],
    fails: ['GET /Appointment/{id}: the current state, to its requestor and to staff'],
  },
  {
    rule: 'the status of a booking can be read and searched at any time',
    edits: ignoring("type === 'Appointment' && sent.name === '_id'"),
    fails: ['book-read-and-search: %s'],
  },
  ...['patient', 'actor', 'identifier', 'slot', 'specialty'].map((name) => ({
    rule: 'the status of a booking can be read and searched at any time',
    edits: ignoring(`type === 'Appointment' && sent.name === '${name}'`),
    fails: ['is found by %s'],
  })),
  {
    rule: 'R5 backport subscriptions are used',
    edits: [edit('core/notifications/events/bundle.ts', "type: 'history',", "type: 'collection',")],
    fails: ['is a Bundle of type history, every entry with request and response'],
  },
  {
    rule: 'R5 backport subscriptions are used',
    edits: [edit('core/notifications/events/bundle.ts', "{ name: 'topic', valueCanonical: topic },", '')],
    fails: ['begins with the state of the Subscription'],
  },
  {
    rule: 'R5 backport subscriptions are used',
    edits: [
      edit(
        'core/notifications/subscription/submission.ts',
        'metaOfSubmitted(meta, owner, config, [profile])',
        'metaOfSubmitted(meta, owner, config, [])',
      ),
    ],
    fails: ['POST /Subscription: 201 with Location, status requested, its profile, and what was sent'],
  },
  untold('the consumer learns of every status change out of `pending`', "previous?.status !== 'pending'"),
  untold(
    'the consumer learns of every status change out of `pending`',
    "!(previous?.status === 'pending' && current.status === 'cancelled')",
    'the requestor is notified when the repository confirms, and when it cancels',
  ),
  {
    rule: 'the consumer learns of every status change out of `pending`',
    edits: [
      edit('bots/lib/notifications/events/event-writer.ts', 'return mayRead(stored, id);', 'return true;'),
      edit('core/notifications/events/concern.ts', 'const isAny = tags.length === 0 ||', 'const isAny = true ||'),
    ],
    fails: ['a consumer is notified of the appointments of its requestor, and of no others'],
  },
  untold('consumer and requestor learn of every change by the repository', 'previous?.status !== current.status'),
  {
    rule: 'a rejected update is described in coded form',
    edits: [
      edit(
        'core/fhir/outcome/outcome.ts',
        'details: { coding: [{ system, code, display: bookingErrors[code].display }], text:',
        'details: { text:',
      ),
    ],
  },
  {
    rule: 'an appointment for a patient who does not exist is rejected',
    edits: [edit(persons, 'if (!found) {', 'if (!found) {\n      return [];')],
  },
];
