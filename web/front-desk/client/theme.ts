import { createTheme } from '@mantine/core';

/** Mantine's theme with enough contrast for WCAG 2.2 AA, and no motion for people who want none. */
export const theme = createTheme({
  primaryShade: 8,
  // The typeface of the device: it is drawn at once, has every script that names are written in, and costs no bytes.
  fontFamily: 'system-ui, sans-serif',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    // Descriptions and placeholders are dimmed otherwise, too much to be read.
    InputWrapper: { styles: { description: { color: 'var(--quiet)' } } },
  },
});
