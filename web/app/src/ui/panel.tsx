// Panel is a part of a page that fails alone: if what it contains cannot be shown, the rest of the
// page stays, with the buttons that may repair it.
import { Component, type ReactNode } from 'react';

interface PanelProps {
  // what names the contents in a sentence, such as "the text".
  what: string;
  // of is what is shown; when it changes, the panel tries again.
  of?: unknown;
  children: ReactNode;
}

export class Panel extends Component<PanelProps, { failed: boolean; of: unknown }> {
  override state = { failed: false, of: this.props.of };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  static getDerivedStateFromProps({ of }: PanelProps, state: { failed: boolean; of: unknown }) {
    return of === state.of ? null : { failed: false, of };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div className="state" role="alert">
        <p>{`The browser could not show ${this.props.what}.`}</p>
        <button type="button" className="button" onClick={() => this.setState({ failed: false })}>
          Try again
        </button>
      </div>
    );
  }
}
