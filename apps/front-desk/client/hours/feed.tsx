import { Button, Checkbox, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type CalendarLink, calendarLink } from '../fhir/client.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';

/** The secret link by which other programs read a calendar. It is shown only once. */
export function CalendarFeedLink({ schedule }: { readonly schedule: string }) {
  const { feed: words } = useTexts();
  const { value, refusal, reload } = useLoaded(`feed ${schedule}`, () => calendarLink(schedule, 'look', false));
  const [made, setMade] = useState<CalendarLink>();
  const { submit, refusal: refused, isBusy } = useSubmit();
  const [withNames, setNames] = useState(false);
  const shown = refused ?? refusal;
  const isActive = (made ?? value)?.isActive ?? false;
  const act = async (action: 'make' | 'end') => {
    const answer = await submit(() => calendarLink(schedule, action, withNames));
    if (answer) {
      setMade(answer);
      await reload();
    }
  };
  return (
    <section aria-labelledby="feed-title">
      <h2 id="feed-title">{words.title}</h2>
      <p className="help">{words.help}</p>
      {shown && <Problem refusal={shown} onReload={() => void reload()} />}
      {made?.link && (
        <TextInput
          label={words.link}
          description={words.once}
          value={made.link}
          readOnly
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
      {value && (
        <Stack gap="sm" align="flex-start">
          <p role="status">{isActive ? words.active : words.none}</p>
          <Checkbox
            label={words.names}
            checked={withNames}
            onChange={(event) => setNames(event.currentTarget.checked)}
          />
          <Button variant="default" loading={isBusy} onClick={() => void act('make')}>
            {isActive ? words.renew : words.make}
          </Button>
          {isActive && (
            <Button variant="default" color="red" loading={isBusy} onClick={() => void act('end')}>
              {words.end}
            </Button>
          )}
        </Stack>
      )}
    </section>
  );
}
