import { createTheme } from '@mantine/core';

/** Mantine's theme with enough contrast for WCAG 2.2 AA, and no motion for people who want none. */
export const theme = createTheme({
  primaryShade: 8,
  // Until it is there, and for scripts that it has not, the typeface of the device.
  fontFamily: 'Inter, system-ui, sans-serif',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    // What turns has a name; without a role it could not be told.
    Loader: { defaultProps: { role: 'progressbar' } },
    // Descriptions and placeholders are dimmed otherwise, too much to be read.
    InputWrapper: { styles: { description: { color: 'var(--quiet)' } } },
  },
});
