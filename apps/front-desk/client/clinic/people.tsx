import { Button, FileButton, Group, NativeSelect } from '@mantine/core';
import type { Attachment, Practitioner } from '@medplum/fhirtypes';
import { useEffect, useState } from 'react';
import { nameOf } from '../../../../core/fhir/resource.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import { attachmentOf, dataUrl, uploadIn } from '../../clinic/presentation.ts';
import { readFile, update } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { Problem } from '../parts/problem.tsx';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { pictureOf } from './picture.ts';

/** Chooses, shows and removes a picture. A picture that was uploaded elsewhere is chosen automatically. */
export function PictureField({
  label,
  picture,
  stored,
  use,
  onPicture,
}: {
  readonly label: string;
  /** `data:` URL; empty if there is none. */
  readonly picture: string;
  readonly stored: Attachment;
  readonly use: 'logo' | 'photo';
  readonly onPicture: (picture: string) => void;
}) {
  const { clinic: words } = useTexts();
  const [isWrong, setWrong] = useState(false);
  const choose = async (file: File | null | undefined): Promise<void> => {
    const made = file ? await pictureOf(file, use) : '';
    setWrong(made === undefined);
    if (made) {
      onPicture(made);
    }
  };
  const upload = uploadIn(stored);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is chosen once.
  useEffect(() => {
    if (upload && !picture) {
      void readFile(upload).then(choose);
    }
  }, [upload]);
  return (
    <fieldset className="picture">
      <legend>{label}</legend>
      <Group gap="xs">
        {picture && <img src={picture} height={48} alt={words.now} />}
        <FileButton
          accept="image/png,image/jpeg,image/webp"
          onChange={(file) => void choose(file)}
          inputProps={{ 'aria-label': label, tabIndex: -1 }}
        >
          {(props) => (
            <Button variant="default" {...props}>
              {words.choose}
            </Button>
          )}
        </FileButton>
        {picture && (
          <Button variant="default" onClick={() => onPicture('')}>
            {words.remove}
          </Button>
        )}
      </Group>
      <p className="help">{upload ? words.uploaded : words.pictures}</p>
      {isWrong && <p role="alert">{words.noPicture}</p>}
    </fieldset>
  );
}

/** The pictures of the practitioners of the calendars. */
export function People({
  people,
  onSaved,
}: {
  readonly people: readonly Practitioner[];
  readonly onSaved: () => Promise<void>;
}) {
  const { clinic: words } = useTexts();
  const { submit, refusal, isBusy, forget } = useSubmit();
  const [chosen, setChosen] = useState('');
  const [picture, setPicture] = useState<string>();
  const sorted = people.toSorted((practitioner, other) => nameOf(practitioner).localeCompare(nameOf(other)));
  const person = sorted.find(({ id }) => id === chosen) ?? sorted[0];
  if (!person) {
    return null;
  }
  const [photo = {}] = listOf(person.photo);
  const stored = dataUrl(photo);
  const save = async (): Promise<void> => {
    const { photo: _, ...rest } = person;
    const attachment = attachmentOf(picture ?? '');
    const after = { ...rest, ...(attachment && { photo: [attachment] }) };
    if (await submit(() => update('Practitioner', after), words.saved)) {
      await onSaved();
      setPicture(undefined);
    }
  };
  return (
    <Form onSend={() => void save()}>
      <h2>{words.people}</h2>
      <NativeSelect
        label={words.person}
        value={person.id}
        onChange={(event) => {
          setChosen(event.currentTarget.value);
          setPicture(undefined);
          forget();
        }}
        data={sorted.map((practitioner) => ({
          value: practitioner.id ?? '',
          label: nameOf(practitioner) || `Practitioner/${practitioner.id}`,
        }))}
      />
      <PictureField
        key={person.id}
        label={words.photo}
        picture={picture ?? stored}
        stored={photo}
        use="photo"
        onPicture={setPicture}
      />
      {refusal && <Problem refusal={refusal} onReload={() => void onSaved()} />}
      <Button
        type="submit"
        loading={isBusy}
        disabled={picture === undefined || (picture === stored && !uploadIn(photo))}
      >
        {words.savePicture}
      </Button>
    </Form>
  );
}
