import { Button, Modal, TextInput } from '@mantine/core';
import { type KeyboardEvent, useCallback, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { isResource, nameOf } from '../../../../core/fhir/resource.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { patientIdOf, patientNameOf } from '../../appointment/people.ts';
import { calendarData, timeOf } from '../../day/entries.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { appointmentIdIn } from '../../people/person.ts';
import { resourcesIn, searchTyped } from '../fhir/client.ts';
import { momentText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { useFoundText } from '../slot/patient-search.tsx';
import { usePatients } from './use-patients.ts';

interface Found {
  readonly path: string;
  readonly name: string;
  readonly more: string;
}

function useNamed(text: string): readonly Found[] {
  const { language, appointment: words, status } = useTexts();
  const id = appointmentIdIn(text);
  const { value: found = [] } = useLoaded(`named ${id}`, async (signal) => {
    const query = [
      ['_id', id ?? ''],
      ['_include', 'Appointment:patient'],
    ] as const;
    const answer = id ? await searchTyped('Appointment', query, signal) : undefined;
    return answer && !isRefusal(answer) ? resourcesIn(answer) : [];
  });
  const appointment = found.find((one) => isResource(one, 'Appointment'));
  if (!appointment) {
    return [];
  }
  const time = timeOf(appointment);
  const more = [time && momentText(time.start, language), status[appointment.status]];
  const day = localDayOf(time?.start ?? Date.now(), config.timeZone);
  const patient = patientIdOf(appointment);
  const name = patientNameOf(appointment, calendarData(found).patients);
  const path = patient ? `/people/${patient}?open=${id}` : `/calendar?date=${day}&open=Appointment/${id}`;
  return [{ path, name: name || words.noPatient, more: more.filter(Boolean).join(', ') }];
}

/** The search field with its results. The focus stays in the field; arrow keys choose, Enter opens a result. */
function Search({ onOpen }: { readonly onOpen: (path: string) => void }) {
  const { booking: words } = useTexts();
  const textOf = useFoundText();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isWanted, setWanted] = useState(false);
  const { value: patients, refusal, asked, isMore } = usePatients(text);
  const named = useNamed(text);
  const found: readonly Found[] = [
    ...named,
    ...(asked && patients ? patients : []).map((patient) => ({
      path: `/people/${patient.patient.id}`,
      name: nameOf(patient.patient) || words.unnamed,
      more: textOf(patient),
    })),
  ];
  const current = Math.min(chosen, found.length - 1);
  // Until the results for the last letter arrive, the list is that of fewer letters: its first person is somebody else.
  const isFound = asked === text.trim() && patients !== undefined;
  const wanted = isWanted && isFound ? found[current]?.path : undefined;
  useEffect(() => {
    if (wanted !== undefined) {
      onOpen(wanted);
    }
  }, [wanted, onOpen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setChosen((current + step + found.length) % found.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      setWanted(true);
    }
  };
  return (
    <>
      <TextInput
        data-autofocus
        label={words.find}
        description={words.findHelp}
        value={text}
        autoComplete="off"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `found-${current}` : undefined}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
          setWanted(false);
        }}
      />
      {refusal && <Problem refusal={refusal} />}
      <div role="status" className="found">
        {asked && patients && (found.length > 0 ? words.found(found.length, isMore) : words.none)}
      </div>
      <div id="found" className="finds" role="listbox" aria-label={words.choose}>
        {found.map(({ path, name, more }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys.
          <div
            key={path}
            id={`found-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            onClick={() => onOpen(path)}
          >
            <b>{name}</b> <span>{more}</span>
          </div>
        ))}
      </div>
    </>
  );
}

/** The search for patients and appointments on every page: by button, by Ctrl and K, or by ⌘ and K. */
export function Finder() {
  const { find: words, close } = useTexts();
  const [isOpen, setOpen] = useState(false);
  const [, navigate] = useLocation();
  const open = useCallback(
    (path: string): void => {
      setOpen(false);
      navigate(path);
    },
    [navigate],
  );
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen(true);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <Button variant="default" size="xs" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        {words.open}
        <kbd className="keys">{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
      </Button>
      <Modal.Root opened={isOpen} onClose={() => setOpen(false)} transitionProps={{ duration: 0 }}>
        <Modal.Overlay />
        <Modal.Content>
          <Modal.Header role="presentation">
            <Modal.Title>{words.title}</Modal.Title>
            <Modal.CloseButton aria-label={close} />
          </Modal.Header>
          <Modal.Body>
            <Search onOpen={open} />
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
    </>
  );
}
