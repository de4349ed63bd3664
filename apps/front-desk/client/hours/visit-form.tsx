import { Button, Checkbox, Group, NativeSelect, Stack } from '@mantine/core';
import type { HealthcareService } from '@medplum/fhirtypes';
import { useState } from 'react';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import {
  emptyStep,
  movedUp,
  type StepProblem,
  type StepRow,
  serviceWithVisit,
  type VisitDraft,
  visitDraftOf,
  visitKinds,
  visitProblems,
  withoutStep,
} from '../../hours/visit-draft.ts';
import { update } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { Problem, ServerSays } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Kept, SeriesFields, StepFields } from './visit-fields.tsx';
import { previewVisit, VisitPreviewList, type VisitProposals } from './visit-preview.tsx';

function Steps({
  steps,
  problems,
  data,
  onChange,
}: {
  readonly steps: readonly StepRow[];
  readonly problems: ReadonlyMap<number, StepProblem> | undefined;
  readonly data: HoursData;
  readonly onChange: (steps: readonly StepRow[]) => void;
}) {
  const { visit: words } = useTexts();
  return (
    <>
      {steps.map((row, index) => {
        const problem = problems?.get(row.key);
        const title = words.step(index + 1, row.name.trim());
        return (
          <fieldset key={row.key} className="weekly">
            <legend>{title}</legend>
            {problem && <p role="alert">{words.stepProblem[problem]}</p>}
            <StepFields
              row={row}
              steps={steps}
              data={data}
              onChange={(part) => onChange(steps.map((one) => (one === row ? { ...one, ...part } : one)))}
            />
            <Group gap="xs">
              {index > 0 && (
                <Button variant="default" onClick={() => onChange(movedUp(steps, index))}>
                  {words.up(title)}
                </Button>
              )}
              <Button variant="default" onClick={() => onChange(withoutStep(steps, row.key))}>
                {words.remove(title)}
              </Button>
            </Group>
          </fieldset>
        );
      })}
      <div>
        <Button variant="default" onClick={() => onChange([...steps, emptyStep(steps)])}>
          {words.add}
        </Button>
      </div>
    </>
  );
}

/** The form for a visit of several steps, or a series. */
export function VisitForm({
  service,
  data,
  onSaved,
}: {
  readonly service: HealthcareService;
  readonly data: HoursData;
  readonly onSaved: () => void;
}) {
  const { visit: words } = useTexts();
  const { draft, change: type, clear } = useDraft<VisitDraft>(`visit ${service.id}`, visitDraftOf(service, config));
  const [isAsked, setAsked] = useState(false);
  const { submit, refusal, isBusy } = useSubmit();
  const [proposals, setProposals] = useState<VisitProposals>();
  const change = (part: Partial<VisitDraft>): void => {
    setProposals(undefined);
    type(part);
  };
  const problems = isAsked ? visitProblems(service, draft, data, config) : undefined;
  const save = async (): Promise<void> => {
    setAsked(true);
    if (!visitProblems(service, draft, data, config)) {
      const changed = serviceWithVisit(service, draft, config);
      if (await submit(() => update('HealthcareService', changed), words.saved)) {
        clear();
        onSaved();
      }
    }
  };
  const preview = async (): Promise<void> => {
    setAsked(true);
    setProposals(undefined);
    if (!visitProblems(service, draft, data, config)) {
      const found = await submit(() => previewVisit(serviceWithVisit(service, draft, config), data));
      setProposals(found?.proposals);
    }
  };
  return (
    <section aria-labelledby="visit-title">
      <h2 id="visit-title">{words.title}</h2>
      <Form onSend={() => void save()}>
        <Stack gap="md">
          <NativeSelect
            label={words.kind}
            description={words.means[draft.kind]}
            value={draft.kind}
            data={visitKinds.map((kind) => ({ value: kind, label: words.kinds[kind] }))}
            onChange={({ currentTarget: { value } }) =>
              change({ kind: visitKinds.find((kind) => kind === value) ?? draft.kind })
            }
          />
          {draft.kind === 'steps' && (
            <>
              <Steps
                steps={draft.steps}
                problems={problems?.steps}
                data={data}
                onChange={(steps) => change({ steps })}
              />
              <Checkbox
                label={words.byStep}
                checked={draft.isByStep}
                onChange={(event) => change({ isByStep: event.currentTarget.checked })}
              />
            </>
          )}
          {draft.kind === 'series' && (
            <SeriesFields
              series={draft.series}
              data={data}
              onChange={(part) => change({ series: { ...draft.series, ...part } })}
            />
          )}
          {draft.kind !== 'one' && <Kept parts={draft.kept} data={data} />}
          {problems && (
            <div role="alert">
              <p>
                <strong>{words.wrong}</strong> {problems.whole && words.wholeProblem[problems.whole]}
              </p>
              <ServerSays sentences={problems.sentences} />
            </div>
          )}
          {refusal && <Problem refusal={refusal} onReload={onSaved} />}
          {proposals && draft.kind !== 'one' && !problems && <VisitPreviewList proposals={proposals} data={data} />}
          <Group gap="xs">
            {draft.kind !== 'one' && (
              <Button variant="default" loading={isBusy} onClick={() => void preview()}>
                {words.preview}
              </Button>
            )}
            <Button type="submit" loading={isBusy}>
              {words.save}
            </Button>
          </Group>
        </Stack>
      </Form>
    </section>
  );
}
