import { createTheme } from '@mantine/core';

/** Mantine's theme with enough contrast for WCAG 2.2 AA, and no motion for people who want none. */
export const theme = createTheme({
  primaryShade: 8,
  fontFamily: 'system-ui, sans-serif',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    // Descriptions and placeholders are gray-6 otherwise, which is too light.
    InputWrapper: { styles: { description: { color: 'var(--mantine-color-gray-8)' } } },
  },
});
