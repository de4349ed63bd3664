import { Button, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { isObject } from '../../../../core/fhir/resource.ts';
import {
  emptyPresentation,
  logoIn,
  maxLength,
  type Presentation,
  presentationOf,
  wrongIn,
} from '../../clinic/presentation.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { deskData } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { settings } from '../settings.ts';
import { People, PictureField } from './people.tsx';
import { type ClinicData, portalUrl, saveClinic, useClinic } from './use-clinic.ts';

/** Pause in typing before the preview is updated, in milliseconds. */
const PAUSE = 300;

/** The portal's first page with the typed presentation. No script and no link works in it. */
function Preview({ typed, bring }: { readonly typed: Presentation; readonly bring: string }) {
  const { clinic: words, language } = useTexts();
  const [page, setPage] = useState('');
  const body = JSON.stringify({ ...typed, bring, language });
  useEffect(() => {
    const ending = new AbortController();
    const show = async (): Promise<void> => {
      const isPage = (answer: unknown): boolean => isObject(answer) && typeof answer.page === 'string';
      const sent = { body: JSON.parse(body), signal: ending.signal };
      const shown = await deskData<{ page: string }>('/clinic-preview', isPage, sent);
      setPage((before) => (isRefusal(shown) ? before : shown.page));
    };
    const timer = setTimeout(() => void show(), PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [body]);
  return <iframe className="preview" title={words.preview} srcDoc={page} sandbox="allow-same-origin" />;
}

interface Draft extends Presentation {
  /** Changed texts about what to bring, by service id. */
  readonly bring: Readonly<Record<string, string>>;
}

/** Type and autocomplete token of each field. */
const fields = [
  ['name', 'text', 'organization'],
  ['line', 'text', 'street-address'],
  ['postalCode', 'text', 'postal-code'],
  ['city', 'text', 'address-level2'],
  ['phone', 'tel', 'tel'],
  ['imprint', 'url', 'off'],
  ['privacy', 'url', 'off'],
] as const;

function ClinicForm({ data, onSaved }: { readonly data: ClinicData; readonly onSaved: () => Promise<void> }) {
  const { clinic: words } = useTexts();
  const { organization, services } = data;
  const stored = organization.id ? presentationOf(organization, portalUrl) : emptyPresentation;
  const { draft, change, clear } = useDraft<Draft>(`clinic ${organization.meta?.versionId}`, { ...stored, bring: {} });
  const { submit, refusal, isBusy } = useSubmit();
  const [wrong, setWrong] = useState<readonly (keyof Presentation)[]>([]);
  const [chosen, setChosen] = useState('');
  const { bring, ...typed } = draft;
  const service = services.find(({ id }) => id === chosen) ?? services[0];
  const brought = service ? (bring[service.id ?? ''] ?? service.extraDetails ?? '') : '';
  const edit = (part: Partial<Draft>): void => {
    setWrong([]);
    change(part);
  };
  const save = async (): Promise<void> => {
    const found = wrongIn(typed);
    setWrong(found);
    if (found.length === 0 && (await submit(() => saveClinic(data, typed, bring), words.saved))) {
      clear();
      await onSaved();
    }
  };
  return (
    <div className="two-panes clinic">
      <Form noValidate onSend={() => void save()}>
        <Stack gap="xs">
          {!organization.id && <p>{words.none}</p>}
          {fields.map(([name, type, autoComplete]) => (
            <TextInput
              key={name}
              {...{ type, autoComplete }}
              maxLength={maxLength[name]}
              label={words.field[name]}
              required={name === 'name'}
              value={draft[name]}
              error={wrong.includes(name) && words.wrong[name === 'name' ? 'name' : 'page']}
              onChange={(event) => edit({ [name]: event.currentTarget.value })}
            />
          ))}
          <TextInput
            type="color"
            label={words.field.colour}
            description={words.colourHelp}
            value={draft.colour}
            onChange={(event) => edit({ colour: event.currentTarget.value })}
          />
          <PictureField
            label={words.field.logo}
            picture={draft.logo}
            stored={logoIn(organization, portalUrl)}
            use="logo"
            onPicture={(logo) => edit({ logo })}
          />
          <Textarea
            label={words.field.consent}
            description={words.consentHelp}
            autosize
            minRows={2}
            maxLength={maxLength.consent}
            value={draft.consent}
            onChange={(event) => edit({ consent: event.currentTarget.value })}
          />
          {service && (
            <>
              <NativeSelect
                label={words.bringFor}
                value={service.id}
                onChange={(event) => setChosen(event.currentTarget.value)}
                data={services.map(({ id = '', name }) => ({ value: id, label: name || `HealthcareService/${id}` }))}
              />
              <Textarea
                label={words.bring}
                description={words.bringHelp}
                autosize
                minRows={2}
                maxLength={maxLength.bring}
                value={brought}
                onChange={(event) => edit({ bring: { ...bring, [service.id ?? '']: event.currentTarget.value } })}
              />
            </>
          )}
          {refusal && <Problem refusal={refusal} onReload={() => void onSaved()} />}
          <Button type="submit" loading={isBusy}>
            {words.save}
          </Button>
        </Stack>
      </Form>
      {settings.hasPortal ? <Preview typed={typed} bring={brought} /> : <p className="help">{words.noPortal}</p>}
    </div>
  );
}

/** The page for the presentation of the clinic, and for the pictures of its people. */
export function ClinicPage() {
  const { clinic: words } = useTexts();
  const clinic = useClinic();
  const { value, reload } = clinic;
  return (
    <>
      <h1>{words.title}</h1>
      <Loading of={[clinic]} />
      {value && (
        <>
          <ClinicForm key={value.organization.meta?.versionId} data={value} onSaved={reload} />
          <People people={value.people} onSaved={reload} />
        </>
      )}
    </>
  );
}
