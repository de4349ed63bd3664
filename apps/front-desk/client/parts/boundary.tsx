import { Alert, Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { TextsContext } from './use-texts.ts';

interface Props {
  readonly children: ReactNode;
}

/** Shows the rest of the application when a page cannot be drawn, instead of nothing. */
export class Boundary extends Component<Props, { readonly problem?: string }> {
  static override readonly contextType = TextsContext;
  declare context: React.ContextType<typeof TextsContext>;
  override state: { readonly problem?: string } = {};

  static getDerivedStateFromError(error: unknown): { readonly problem: string } {
    return { problem: String(error) };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    const { reload, broken } = this.context;
    return problem === undefined ? (
      this.props.children
    ) : (
      <>
        <h1>{broken.title}</h1>
        <Alert color="red.9" role="alert" variant="outline" className="problem">
          <p>{broken.next}</p>
          <p>
            <code lang="en">{problem}</code>
          </p>
          <Button variant="default" size="xs" onClick={() => window.location.reload()}>
            {reload}
          </Button>
        </Alert>
      </>
    );
  }
}
