import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './use-texts.ts';

/** A dialog at the side. It takes the focus, and returns it when it is closed. */
export function SidePanel({
  title,
  isOpen,
  onClose,
  children,
}: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const { close } = useTexts();
  return (
    <Drawer.Root opened={isOpen} onClose={onClose} position="right" transitionProps={{ duration: 0 }}>
      <Drawer.Overlay />
      <Drawer.Content>
        {/* A header inside the page's own would be a second banner. */}
        <Drawer.Header role="presentation">
          <Drawer.Title>{title}</Drawer.Title>
          <Drawer.CloseButton aria-label={close} />
        </Drawer.Header>
        <Drawer.Body>{children}</Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
