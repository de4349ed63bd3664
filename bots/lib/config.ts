import type { BookingConfig } from '../../core/config/config.ts';

/** Put in by the bundler when the Bots are built for an installation. */
declare const __BOOKING_CONFIG__: BookingConfig;

/** The configuration of the installation that this Bot was built for. */
export const config: BookingConfig = __BOOKING_CONFIG__;
