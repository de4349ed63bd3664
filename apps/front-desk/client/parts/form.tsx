import { Group, TextInput } from '@mantine/core';
import type { ComponentProps } from 'react';
import { useTexts } from './use-texts.ts';

/** A form that the page sends itself, so that the browser does not leave it. */
export function Form({ onSend, ...form }: ComponentProps<'form'> & { readonly onSend: () => void }) {
  return (
    <form
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    />
  );
}

interface Typed {
  readonly from: string;
  readonly to: string;
}

/** The fields for a start and an end. */
export function FromTo({
  type,
  value,
  onChange,
}: {
  readonly type: 'date' | 'datetime-local';
  readonly value: Typed;
  readonly onChange: (part: Partial<Typed>) => void;
}) {
  const { slot: words } = useTexts();
  return (
    <Group gap="xs" grow align="end">
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          type={type}
          required
          label={words[name]}
          value={value[name]}
          onChange={(event) => onChange({ [name]: event.currentTarget.value })}
        />
      ))}
    </Group>
  );
}
